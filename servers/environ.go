package servers

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/secret"
)

// engineNames are the variables that engines, and the libraries below them, go by; in enginePrefixes are families of
// them. Only their values are recorded: of any other variable nobody knows what its value is.
var engineNames = []string{
	"PATH", "VIRTUAL_ENV", "TMPDIR", "XDG_CACHE_HOME", "SHM_SIZE", "WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR",
	"MASTER_PORT",
}

var enginePrefixes = []string{
	// engines
	"VLLM_", "SGLANG_", "SGL_", "TRTLLM_", "TLLM_", "TENSORRT_", "LLAMA_", "GGML_", "OLLAMA_", "LMCACHE_", "NIXL_",
	"MOONCAKE_", "DYN_", "NIM_", "RAY_",
	"CUDA_", "NVIDIA_", "NVTE_", "NCCL_", "NVSHMEM_", "CUBLAS", "CUDNN_", "GPU_", // accelerators
	"ROCR_", "ROCM_", "ROCBLAS_", "HIP", "HSA_", "AMD_", "AITER_", "MIOPEN_", "RCCL_",
	"HABANA_", "PT_HPU_", "HCCL_", "ONEAPI_", "ZE_", "SYCL_", "CCL_", "XPU_", "TPU_", "XLA_", "JAX_",
	// Python's libraries
	"TORCH", "PYTORCH_", "TRITON_", "FLASHINFER_", "FLASH_", "HF_", "HUGGINGFACE_", "TRANSFORMERS_", "TOKENIZERS_",
	"SAFETENSORS_",
	// and below
	"GLOO_", "UCX_", "FI_", "OMPI_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "NUMBA_", "MALLOC_", "LD_",
	"PYTHON", "CONDA_",
}

// ofEngines reports whether a variable is known to steer engines.
func ofEngines(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(engineNames, name) ||
		slices.ContainsFunc(enginePrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

const (
	longestValue = 1 << 10 // bytes that are kept of a variable
	distinct     = 8       // bytes of a value that is looked for in what engines write
	switchBytes  = 5       // of a number or truth value that is no secret: as long as "false"
)

// recorded reports whether the value of a variable is one for a record: it steers engines or is a switch, and its name
// tells of no secret.
func recorded(name, value string) bool {
	return !secret.Name(name) && (ofEngines(name) || value == "" || secret.IsSwitch(value) && len(value) <= switchBytes)
}

// redactor hides what a plan's processes are given to keep to themselves.
type redactor struct{ *secret.Redactor }

// learn makes the values of variables known that somebody set for the servers: those of names that tell of a secret,
// and every one of which nobody knows what it is. Paths, short words and what a record has anyway are none.
func (r redactor) learn(variables map[string]string, public ...string) {
	for name, value := range variables {
		unknown := !recorded(name, value) && len(value) >= distinct && !strings.HasPrefix(value, "/") &&
			!slices.ContainsFunc(public, func(p string) bool { return strings.Contains(p, value) })
		if unknown || secret.Name(name) {
			r.Add(value)
		}
	}
	r.AddEnviron(pairs(variables, func(string) bool { return true }))
}

// value is a variable's value as records have it.
func (r redactor) value(name, value string) string {
	if value != "" && !recorded(name, value) {
		return secret.Hidden
	}
	return foreign.Line(r.Text(value), longestValue)
}

// variables are values of variables as records have them.
func (r redactor) variables(m map[string]string) map[string]string {
	shown := map[string]string{}
	for name, value := range m {
		shown[name] = r.value(name, value)
	}
	return shown
}

// inherited is an environment as records have it: the variables for engines, and those that somebody set. The last of a
// name counts, as it does for exec.
func (r redactor) inherited(environ []string, set map[string]string) map[string]string {
	all := map[string]string{}
	for _, pair := range environ {
		name, value, ok := strings.Cut(pair, "=")
		if _, own := set[name]; ok && (own || ofEngines(name)) {
			all[name] = value
		}
	}
	return r.variables(all)
}

// assigned matches NAME=value in a shell command.
var assigned = regexp.MustCompile(`\b([A-Za-z_][A-Za-z0-9_]*)=("(?:[^"\\]|\\.)*"|'[^']*'|\$\([^)]*\)|[^\s;&|()<>]+)`)

// commands are shell commands without secrets. Of a variable that is not for engines the value is one.
func (r redactor) commands(lines []string) []string {
	shown := slices.Clone(lines)
	for i, line := range lines {
		line = assigned.ReplaceAllStringFunc(line, func(match string) string {
			if name, value, _ := strings.Cut(match, "="); !recorded(name, value) {
				return name + "=" + secret.Hidden
			}
			return match
		})
		shown[i] = r.Text(line)
	}
	return shown
}

// learnCommands makes the values known that shell commands assign to variables.
func (r redactor) learnCommands(lines []string, public ...string) {
	values := map[string]string{}
	for _, line := range lines {
		r.AddText(line)
		for _, m := range assigned.FindAllStringSubmatch(line, -1) {
			if value := strings.Trim(m[2], `"'`); !strings.ContainsAny(value, "$`") { // the shell makes the others
				values[m[1]] = value
			}
		}
	}
	r.learn(values, public...)
}

// commandLine is a command line without secrets.
func (r redactor) commandLine(line []string) []string {
	shown := secret.Args(line)
	for i, w := range shown {
		shown[i] = r.Values(w)
	}
	return shown
}
