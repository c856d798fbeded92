package describe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
)

// OfMachine returns the facts detected on a machine, for a system that consists of this machine only.
func OfMachine(inv hostinfo.Inventory, from string) []Fact {
	var facts []Fact
	add := func(field string, known bool, value any) {
		if known {
			facts = append(facts, Fact{field, value, from})
		}
	}
	add("number_of_nodes", true, "1")
	add("host_processor_model_name", inv.CPUModel != "", inv.CPUModel)
	add("host_processors_per_node", inv.Sockets > 0, strconv.Itoa(inv.Sockets))
	add("host_processor_core_count", inv.CoresPerSocket > 0, strconv.Itoa(inv.CoresPerSocket))
	add("host_processor_frequency", inv.MaxMHz > 0, fmt.Sprintf("%d MHz", inv.MaxMHz))
	add("host_processor_caches", len(inv.Caches) > 0, joined(inv.Caches))
	add("host_memory_capacity", inv.MemoryBytes > 0, binary(inv.MemoryBytes))
	add("operating_system", inv.OS != "", strings.TrimSpace(inv.OS+", Linux "+inv.Kernel))
	add("hw_notes", inv.NUMANodes > 1, fmt.Sprintf("%d NUMA nodes", inv.NUMANodes))
	facts = append(facts, ofDisks(inv.Disks, from)...)
	facts = append(facts, ofNetworks(inv.Networks, from)...)
	return append(facts, ofAccelerators(inv, from)...)
}

func joined(caches []hostinfo.Cache) string {
	var all []string
	for _, c := range caches {
		all = append(all, c.String())
	}
	return strings.Join(all, ", ")
}

func ofDisks(disks []hostinfo.Disk, from string) []Fact {
	if len(disks) == 0 {
		return nil
	}
	var total int64
	var kinds []string
	for _, d := range disks {
		total += d.Bytes
		kind := "SSD"
		switch {
		case strings.HasPrefix(d.Name, "vd"), strings.HasPrefix(d.Name, "xvd"): // always reported as rotational
			kind = "virtual disk"
		case d.Rotational:
			kind = "HDD"
		case strings.HasPrefix(d.Name, "nvme"):
			kind = "NVMe SSD"
		}
		kinds = append(kinds, kind)
	}
	return []Fact{{"host_storage_capacity", decimal(total), from}, {"host_storage_type", counted(kinds), from}}
}

func ofNetworks(networks []hostinfo.Network, from string) []Fact {
	var kinds, cards []string
	for _, n := range networks {
		kind := "Ethernet"
		if n.InfiniBand {
			kind = "InfiniBand"
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		if n.SpeedMbit > 0 {
			kind = strconv.FormatFloat(float64(n.SpeedMbit)/1000, 'f', -1, 64) + " Gbit/s " + kind
		}
		cards = append(cards, kind)
	}
	if len(cards) == 0 {
		return nil
	}
	return []Fact{{"host_networking", strings.Join(kinds, " and "), from},
		{"host_network_card_count", counted(cards), from}}
}

// ofAccelerators returns no fact if the NVIDIA library lists none, since there may be accelerators of another vendor.
func ofAccelerators(inv hostinfo.Inventory, from string) []Fact {
	if len(inv.GPUs) == 0 {
		return nil
	}
	var models []string
	for _, g := range inv.GPUs {
		models = append(models, g.Name)
	}
	facts := []Fact{
		{"accelerators_per_node", strconv.Itoa(len(inv.GPUs)), from},
		{"accelerator_model_name", strings.Join(slices.Compact(slices.Sorted(slices.Values(models))), " and "), from},
		{"accelerator_memory_capacity", binary(inv.GPUs[0].MemoryBytes), from},
	}
	if inv.GPUDriver != "" {
		facts = append(facts, Fact{"other_software_stack", map[string]any{"NVIDIA driver": inv.GPUDriver}, from})
	}
	if len(inv.Accelerators) == 0 {
		return facts
	}
	a := inv.Accelerators[0]
	if a.ClockMHz > 0 {
		facts = append(facts, Fact{"accelerator_frequency", fmt.Sprintf("%d MHz", a.ClockMHz), from})
	}
	if a.PCIeGen > 0 && a.PCIeLane > 0 {
		facts = append(facts, Fact{"accelerator_host_interconnect", fmt.Sprintf("PCIe Gen%d x%d", a.PCIeGen, a.PCIeLane),
			from})
	}
	switch {
	case a.NVLinks > 0:
		facts = append(facts, Fact{"accelerator_interconnect", fmt.Sprintf("%d NVLinks", a.NVLinks), from})
	case len(inv.GPUs) == 1:
		facts = append(facts, Fact{"accelerator_interconnect", "N/A", from})
	}
	return facts
}

// counted joins equal texts, such as 2x SSD.
func counted(all []string) string {
	var parts []string
	for len(all) > 0 {
		same := all[0]
		n := len(all)
		all = slices.DeleteFunc(all, func(s string) bool { return s == same })
		parts = append(parts, fmt.Sprintf("%dx %s", n-len(all), same))
	}
	return strings.Join(parts, ", ")
}

func binary(bytes int64) string {
	return strconv.FormatFloat(float64(bytes>>20)/1024, 'f', 0, 64) + " GiB"
}

func decimal(bytes int64) string {
	if bytes < 1e12 {
		return strconv.FormatInt(bytes/1e9, 10) + " GB"
	}
	return strconv.FormatFloat(float64(bytes)/1e12, 'f', 1, 64) + " TB"
}
