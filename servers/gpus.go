package servers

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
)

// GPUs lists the devices available to replicas.
type GPUs struct {
	Vendor string   `json:"vendor"` // nvidia, amd, or "" without devices
	IDs    []string `json:"ids"`    // in the form of CUDA_VISIBLE_DEVICES
	Note   string   `json:"note"`   // one line: how they were found, or why not
}

// FindGPUs returns NVIDIA's GPUs from the facts of the machine, else AMD's from the kernel, restricted by the list of
// visible devices in the environment.
func FindGPUs(f hostinfo.Facts, environ []string) GPUs { return findGPUs("/", f, environ) }

func findGPUs(root string, f hostinfo.Facts, environ []string) GPUs {
	g := GPUs{IDs: []string{}}
	if n := len(f.GPUs); n > 0 {
		g = GPUs{Vendor: "nvidia", IDs: numbers(n), Note: fmt.Sprintf("%d × %s", n, f.GPUs[0].Name)}
	} else if n := countAMD(root); n > 0 {
		g = GPUs{Vendor: "amd", IDs: numbers(n), Note: fmt.Sprintf("%d of AMD", n)}
	}
	if g.Vendor == "" {
		g.Note = "this machine has no GPU (" + cmp.Or(f.GPUNote, "no driver lists one") + ")"
		return g
	}
	for _, name := range visibleNames[g.Vendor] {
		if value, ok := lookup(environ, name); ok {
			g.IDs = visible(value)
			g.Note += fmt.Sprintf(", %d visible with %s=%s", len(g.IDs), name, value)
			break
		}
	}
	return g
}

// visibleNames lists the variables that restrict a process to some GPUs; the first one takes precedence.
var visibleNames = map[string][]string{
	"nvidia": {"CUDA_VISIBLE_DEVICES"},
	"amd":    {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"},
}

// visible splits a list of devices. Like CUDA, it stops at the first entry that is not a device.
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

// countAMD counts the GPUs in the kernel's compute topology, where CPUs have the gpu_id 0.
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

// devices returns the variables that restrict a replica to its GPUs. On AMD, HIP numbers the devices that ROCR leaves.
func (g GPUs) devices(ids []string) map[string]string {
	if g.Vendor == "amd" {
		return map[string]string{"ROCR_VISIBLE_DEVICES": strings.Join(ids, ","),
			"HIP_VISIBLE_DEVICES": strings.Join(numbers(len(ids)), ",")}
	}
	return map[string]string{"CUDA_VISIBLE_DEVICES": strings.Join(ids, ",")}
}

// lookup returns the value of a variable. The last value of a repeated name counts, as for exec.
func lookup(environ []string, name string) (value string, ok bool) {
	for _, pair := range environ {
		if v, found := strings.CutPrefix(pair, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}
