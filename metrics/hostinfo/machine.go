package hostinfo

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// Machine describes a machine and the limits of this process beyond Facts. Empty fields were not found.
type Machine struct {
	Facts
	KernelBuild   string      `json:"kernel_build"`           // /proc/version
	KernelCommand string      `json:"kernel_command_line"`    // what the kernel was started with
	ClockSource   string      `json:"clock_source"`           // of the kernel's clocks
	Governor      string      `json:"cpu_governor"`           // of the first CPU
	HugePages     string      `json:"transparent_hugepage"`   // the choice in force is in brackets
	Limits        []Limit     `json:"limits"`                 // of this process
	Cgroup        []Setting   `json:"cgroup"`                 // limits of this process's control group, version 2
	NUMA          []NUMANode  `json:"numa"`                   // by number
	CUDA          string      `json:"cuda_version,omitempty"` // newest that the NVIDIA driver supports
	Devices       []GPUDevice `json:"gpu_table"`              // one row for each of Facts.GPUs; never nil
}

// Limit is a resource limit as /proc/self/limits prints it.
type Limit struct {
	Name string `json:"name"`
	Soft string `json:"soft"`
	Hard string `json:"hard"`
	Unit string `json:"unit,omitempty"`
}

// Setting is one file of the kernel with one value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// NUMANode is one node of memory.
type NUMANode struct {
	Number      int    `json:"number"`
	CPUs        string `json:"cpus"` // a list such as 0-31,64-95
	MemoryBytes int64  `json:"memory_bytes"`
	Distances   string `json:"distances"` // to each node
}

// GPUDevice is one row of the table of GPUs. Figures that the driver does not report are empty.
type GPUDevice struct {
	Index         int     `json:"index"`
	Name          string  `json:"name"`
	UUID          string  `json:"uuid"`
	PCI           string  `json:"pci"` // bus id
	VBIOS         string  `json:"vbios"`
	MemoryBytes   int64   `json:"memory_bytes"`
	PowerLimitW   float64 `json:"power_limit_w"` // enforced
	MaxClockMHz   int     `json:"max_clock_mhz"` // of its processors
	PCIeGen       int     `json:"pcie_gen"`      // highest
	PCIeLanes     int     `json:"pcie_lanes"`
	NVLinks       int     `json:"nvlinks"` // links that are up
	Compute       string  `json:"compute_capability"`
	ECC           string  `json:"ecc"` // on, off, or empty: unknown
	MIG           string  `json:"mig"`
	Persistence   string  `json:"persistence"`
	ExclusiveMode bool    `json:"exclusive"` // only one process may use it
}

// tableSource returns the table of GPUs and the CUDA version of the driver.
type tableSource interface {
	table() (rows []GPUDevice, cuda string)
}

// Describe describes this machine as a run's environment folder contains it.
func Describe() Machine { return describeMachine("/", nvidia{}, nvidia{}) }

func describeMachine(root string, gpus gpuSource, table tableSource) Machine {
	m := Machine{Facts: collect(root, gpus), Limits: processLimits(string(read(root, "proc/self/limits"))),
		Cgroup: cgroup(root), NUMA: nodes(root), Devices: []GPUDevice{}}
	m.KernelBuild, m.KernelCommand = text(root, "proc/version"), text(root, "proc/cmdline")
	m.ClockSource = text(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")
	m.Governor = text(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	m.HugePages = text(root, "sys/kernel/mm/transparent_hugepage/enabled")
	if len(m.GPUs) > 0 {
		m.Devices, m.CUDA = table.table()
	}
	return m
}

// columns matches what separates the columns of /proc/self/limits: names contain single spaces.
var columns = regexp.MustCompile(` {2,}`)

// processLimits reads the text of /proc/self/limits, whose first line is a heading.
func processLimits(text string) []Limit {
	all := []Limit{}
	for line := range strings.Lines(text) {
		c := columns.Split(strings.TrimSpace(line), -1)
		if len(c) < 3 || !strings.HasPrefix(c[0], "Max ") || len(all) == maxDevices {
			continue
		}
		l := Limit{Name: strings.TrimPrefix(c[0], "Max "), Soft: c[1], Hard: c[2]}
		if len(c) > 3 {
			l.Unit = c[3]
		}
		all = append(all, l)
	}
	return all
}

// cgroupFiles are the limits of a control group that slow a process down or end it.
var cgroupFiles = []string{"cpu.max", "cpuset.cpus.effective", "cpuset.mems.effective", "memory.max", "memory.high",
	"pids.max"}

// cgroup reads the limits of this process's control group, and of the root if it does not see its own, as in a
// container.
func cgroup(root string) []Setting {
	all := []Setting{}
	own := value(read(root, "proc/self/cgroup"), "0", "::")
	if !filepath.IsLocal(strings.TrimPrefix(own, "/")) {
		own = ""
	}
	for _, name := range cgroupFiles {
		for _, folder := range slices.Compact([]string{own, ""}) {
			if v := text(root, "sys/fs/cgroup", folder, name); v != "" {
				all = append(all, Setting{name, v})
				break
			}
		}
	}
	return all
}

func nodes(root string) []NUMANode {
	const folder = "sys/devices/system/node"
	all := []NUMANode{}
	paths, err := filepath.Glob(filepath.Join(root, folder, "node[0-9]*"))
	if err != nil {
		return all
	}
	for _, path := range paths[:min(len(paths), maxDevices)] {
		at := filepath.Join(folder, filepath.Base(path))
		n := NUMANode{Number: number(strings.TrimPrefix(filepath.Base(path), "node")), CPUs: text(root, at, "cpulist"),
			Distances: text(root, at, "distance")}
		for line := range strings.Lines(string(read(root, filepath.Join(at, "meminfo")))) {
			if _, v, ok := strings.Cut(line, "MemTotal:"); ok {
				n.MemoryBytes = kibibytes(strings.TrimSpace(v))
			}
		}
		all = append(all, n)
	}
	ordering.Sort(all, func(a, b NUMANode) int { return a.Number - b.Number })
	return all
}

// kept are the variables that change how a server, a client or a GPU behaves. LD_PRELOAD and PYTHONPATH change the
// programs themselves. Other variables are not stored, because they may contain anything.
var kept = []string{"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES",
	"NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ROCM_PATH", "OMP_NUM_THREADS",
	"PYTHONPATH", "PYTHONUNBUFFERED", "TORCH_CUDA_ARCH_LIST", "VLLM_NO_USAGE_STATS", "GOMAXPROCS", "GOGC", "GOMEMLIMIT",
	"GODEBUG", "LANG", "LC_ALL", "TZ"}

// Variables returns the variables of an environment that a description of the machine contains.
func Variables(environ []string) map[string]string {
	found := map[string]string{}
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); slices.Contains(kept, name) {
			found[name] = value
		}
	}
	return found
}
