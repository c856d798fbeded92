package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/hostinfo"
)

// GPUs are the devices that replicas can be given.
type GPUs struct {
	Vendor string   `json:"vendor"` // nvidia, amd, or "" without any
	IDs    []string `json:"ids"`    // as CUDA_VISIBLE_DEVICES and its like take them
	Note   string   `json:"note"`   // one line that says where they are from, or why there is none
}

// FindGPUs gives NVIDIA's GPUs from the facts of the machine, else AMD's from the kernel. A list of visible devices in
// the environment restricts both.
func FindGPUs(f hostinfo.Facts, environ []string) GPUs { return findGPUs("/", f, environ) }

func findGPUs(root string, f hostinfo.Facts, environ []string) GPUs {
	g := GPUs{IDs: []string{}}
	if n := len(f.GPUs); n > 0 {
		g = GPUs{Vendor: "nvidia", IDs: numbers(n), Note: fmt.Sprintf("%d × %s", n, f.GPUs[0].Name)}
	} else if n := countAMD(root); n > 0 {
		g = GPUs{Vendor: "amd", IDs: numbers(n), Note: fmt.Sprintf("%d of AMD", n)}
	}
	if g.Vendor == "" {
		why := f.GPUNote
		if why == "" {
			why = "no driver lists one"
		}
		g.Note = "there is no GPU on this machine (" + why + ")"
		return g
	}
	for _, name := range visibleNames[g.Vendor] {
		if value, ok := lookup(environ, name); ok {
			g.IDs = visible(value)
			g.Note += fmt.Sprintf(", of which %s=%s leaves %d", name, value, len(g.IDs))
			break
		}
	}
	return g
}

// visibleNames are the variables that restrict a process to some GPUs, the deciding one first.
var visibleNames = map[string][]string{
	"nvidia": {"CUDA_VISIBLE_DEVICES"},
	"amd":    {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"},
}

// visible takes a list of devices apart; CUDA reads it up to the first entry that is no device.
func visible(list string) []string {
	ids := []string{}
	for id := range strings.SplitSeq(list, ",") {
		if id = strings.TrimSpace(id); id == "" || strings.HasPrefix(id, "-") || id == "NoDevFiles" {
			break
		}
		ids = append(ids, id)
	}
	return ids
}

// countAMD counts the nodes of the kernel's compute topology that are GPUs: a CPU's gpu_id is 0.
func countAMD(root string) int {
	nodes, err := filepath.Glob(filepath.Join(root, "sys/class/kfd/kfd/topology/nodes/*/gpu_id"))
	if err != nil {
		return 0
	}
	n := 0
	for _, node := range nodes {
		if id, err := os.ReadFile(node); err == nil && strings.TrimSpace(string(id)) != "0" {
			n++
		}
	}
	return n
}

func numbers(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	return ids
}

// devices are the variables that give one replica its GPUs. On AMD the second list counts within the first.
func (g GPUs) devices(ids []string) map[string]string {
	if g.Vendor == "amd" {
		return map[string]string{"ROCR_VISIBLE_DEVICES": strings.Join(ids, ","),
			"HIP_VISIBLE_DEVICES": strings.Join(numbers(len(ids)), ",")}
	}
	return map[string]string{"CUDA_VISIBLE_DEVICES": strings.Join(ids, ",")}
}

// lookup finds a variable; the last one of a name counts, as it does for exec.
func lookup(environ []string, name string) (value string, ok bool) {
	for _, pair := range environ {
		if v, found := strings.CutPrefix(pair, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}
