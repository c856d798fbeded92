package hostinfo

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Facts describes a machine: run.json's host. Empty fields could not be found.
type Facts struct {
	OS          string `json:"os"`           // name of the distribution
	Kernel      string `json:"kernel"`       // release
	Arch        string `json:"arch"`         // as Go names it
	CPUModel    string `json:"cpu_model"`    // of the first CPU
	CPUs        int    `json:"cpus"`         // logical CPUs that are online
	CPUsAllowed int    `json:"cpus_allowed"` // logical CPUs this process may use
	Sockets     int    `json:"sockets"`      // 0: unknown
	NUMANodes   int    `json:"numa_nodes"`   // 0: unknown
	MemoryBytes int64  `json:"memory_bytes"` // usable by the kernel
	GPUs        []GPU  `json:"gpus"`         // never nil
	GPUDriver   string `json:"gpu_driver"`   // version
	GPUNote     string `json:"gpu_note"`     // one line: why GPUs is empty or incomplete
}

// GPU is one NVIDIA device.
type GPU struct {
	Name        string `json:"name"`
	UUID        string `json:"uuid"`
	MemoryBytes int64  `json:"memory_bytes"`
}

// gpuSource lists the GPUs of the machine. The error states why there is no list.
type gpuSource interface {
	list() (gpus []GPU, driver string, err error)
}

// Collect describes this machine.
func Collect() Facts { return collect("/", nvidia{}) }

// collect reads files below root, which tests replace.
func collect(root string, gpus gpuSource) Facts {
	f := Facts{Arch: runtime.GOARCH, CPUsAllowed: runtime.NumCPU(), GPUs: []GPU{}}
	f.OS = value(read(root, "etc/os-release"), "PRETTY_NAME", "=")
	f.Kernel = strings.TrimSpace(string(read(root, "proc/sys/kernel/osrelease")))
	cpuinfo := read(root, "proc/cpuinfo")
	f.CPUModel = firstOf(cpuinfo, "model name", "Model", "Processor", "cpu model")
	f.CPUs, f.Sockets = countCPUs(cpuinfo)
	f.NUMANodes = countNodes(root)
	f.MemoryBytes = kibibytes(value(read(root, "proc/meminfo"), "MemTotal", ":"))
	list, driver, err := gpus.list()
	f.GPUDriver = driver
	if len(list) > 0 {
		f.GPUs = list
	}
	if err != nil {
		f.GPUNote = err.Error()
	}
	return f
}

// maxProcFile bounds a file of /proc; cpuinfo of a machine with 1,000 CPUs takes about 1.5 MiB.
const maxProcFile = 16 << 20

// read returns a file's bytes, or nil if it cannot be read.
func read(root, name string) []byte {
	f, err := os.Open(filepath.Join(root, name))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxProcFile))
	if err != nil {
		return nil
	}
	return data
}

// value returns the value of the first line "key sep value", without white space and quotes.
func value(text []byte, key, sep string) string {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxProcFile)
	for lines.Scan() {
		k, v, ok := strings.Cut(lines.Text(), sep)
		if ok && strings.TrimSpace(k) == key {
			return strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return ""
}

// firstOf tries keys in turn: each architecture names its CPU model differently.
func firstOf(text []byte, keys ...string) string {
	for _, k := range keys {
		if v := value(text, k, ":"); v != "" {
			return v
		}
	}
	return ""
}

func countCPUs(cpuinfo []byte) (cpus, sockets int) {
	seen := map[string]bool{}
	for line := range strings.Lines(string(cpuinfo)) {
		k, v, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(k) {
		case "processor":
			cpus++
		case "physical id":
			seen[strings.TrimSpace(v)] = true
		}
	}
	return cpus, len(seen)
}

func countNodes(root string) int {
	nodes, err := filepath.Glob(filepath.Join(root, "sys/devices/system/node/node[0-9]*"))
	if err != nil {
		return 0
	}
	return len(nodes)
}

// kibibytes parses "123 kB", as /proc writes it, and returns bytes; 0 for any other text.
func kibibytes(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(s, " kB"), 10, 64)
	if err != nil || n < 0 || n > 1<<53 {
		return 0
	}
	return n << 10
}

// FreeBytes returns the space that this user may still fill on the disk of folder, or of the nearest existing folder
// above it. Some file systems, such as /proc and several of FUSE, report no size: known is false.
func FreeBytes(folder string) (free uint64, known bool, err error) {
	at, err := filepath.Abs(folder)
	if err != nil {
		return 0, false, describe("finding the free space of", folder, err)
	}
	for {
		var s unix.Statfs_t
		err := unix.Statfs(at, &s)
		if err == nil {
			return s.Bavail * uint64(s.Bsize), s.Blocks > 0, nil
		}
		if err != unix.ENOENT || at == filepath.Dir(at) {
			return 0, false, describe("finding the free space of", folder, err)
		}
		at = filepath.Dir(at)
	}
}
