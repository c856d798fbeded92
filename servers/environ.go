package servers

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/secret"
)

// engineNames and enginePrefixes list the variables that engines and their libraries read. Only the values of these are
// recorded, because the value of any other variable may be a secret.
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

// ofEngines reports whether engines are known to read a variable.
func ofEngines(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(engineNames, name) ||
		slices.ContainsFunc(enginePrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

const (
	longestValue = 1 << 10 // bytes recorded of a variable
	distinct     = 8       // shortest value, in bytes, that is redacted wherever it occurs in text
	switchBytes  = 5       // longest number or bool, in bytes, that cannot be a secret: "false"
)

// recorded reports whether the value of a variable may be recorded: engines read it or it is a switch, and its name
// does not suggest a secret.
func recorded(name, value string) bool {
	return !secret.Name(name) && (ofEngines(name) || value == "" || secret.IsSwitch(value) && len(value) <= switchBytes)
}

// redactor hides the secrets of a plan's processes.
type redactor struct{ *secret.Redactor }

// learn adds the values of variables set for the servers whose name suggests a secret or is unknown. Paths, short words
// and parts of public texts are not added for unknown names.
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

// value returns a variable's value without secrets, for records.
func (r redactor) value(name, value string) string {
	if value != "" && !recorded(name, value) {
		return secret.Hidden
	}
	return foreign.Line(r.Text(value), longestValue)
}

// variables returns variables without secrets, for records.
func (r redactor) variables(m map[string]string) map[string]string {
	shown := map[string]string{}
	for name, value := range m {
		shown[name] = r.value(name, value)
	}
	return shown
}

// inherited returns the recorded part of an environment: variables that engines read and those in set. The last value
// of a repeated name counts, as for exec.
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

// commands returns shell commands without secrets. It hides the values of variables that engines do not read.
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

// learnCommands adds the secrets among the values that shell commands assign to variables.
func (r redactor) learnCommands(lines []string, public ...string) {
	values := map[string]string{}
	for _, line := range lines {
		r.AddText(line)
		for _, m := range assigned.FindAllStringSubmatch(line, -1) {
			if value := strings.Trim(m[2], `"'`); !strings.ContainsAny(value, "$`") { // the shell computes the others
				values[m[1]] = value
			}
		}
	}
	r.learn(values, public...)
}

// commandLine returns a command line without secrets.
func (r redactor) commandLine(line []string) []string {
	shown := secret.Args(line)
	for i, w := range shown {
		shown[i] = r.Values(w)
	}
	return shown
}
