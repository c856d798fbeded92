package hostinfo

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// Inventory holds what a system description needs beyond Facts. A field is empty if its value was not found.
type Inventory struct {
	Facts
	CoresPerSocket int // physical; 0: unknown
	MaxMHz         int // highest clock of the first CPU; 0: unknown
	Caches         []Cache
	Disks          []Disk
	Networks       []Network
	Accelerators   []Accelerator // one for each of Facts.GPUs
}

// Cache is one kind of cache of the first CPU.
type Cache struct {
	Level int
	Type  string // Data, Instruction or Unified
	Size  string // as the kernel prints it, such as 32K
}

// Disk is one physical block device.
type Disk struct {
	Name       string
	Model      string
	Bytes      int64
	Rotational bool
}

// Network is one physical network interface.
type Network struct {
	Name       string
	InfiniBand bool // else Ethernet
	SpeedMbit  int  // 0: unknown, or not connected
	Driver     string
}

// Accelerator holds what the management library reports about a GPU beyond its name and memory.
type Accelerator struct {
	ClockMHz int // highest of its processors; 0: unknown
	PCIeGen  int // highest generation of its link; 0: unknown
	PCIeLane int // lanes of its link; 0: unknown
	NVLinks  int // links that are up
}

// acceleratorSource asks the management library; tests replace it.
type acceleratorSource interface {
	details() []Accelerator
}

// Inspect describes this machine in full. It runs a little longer than Collect and needs no privileges.
func Inspect() Inventory { return inspect("/", nvidia{}, nvidia{}) }

func inspect(root string, gpus gpuSource, details acceleratorSource) Inventory {
	inv := Inventory{Facts: collect(root, gpus)}
	cpuinfo := read(root, "proc/cpuinfo")
	inv.CoresPerSocket = number(value(cpuinfo, "cpu cores", ":"))
	inv.MaxMHz = number(text(root, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")) / 1000
	inv.Caches = caches(root)
	inv.Disks = disks(root)
	inv.Networks = networks(root)
	if len(inv.GPUs) > 0 {
		inv.Accelerators = details.details()
	}
	return inv
}

// text returns the first line of a small kernel file.
func text(root string, name ...string) string {
	return strings.TrimSpace(string(read(root, filepath.Join(name...))))
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// maxDevices bounds the list in case /sys is damaged.
const maxDevices = 4096

// entries returns the names in a folder of /sys that belong to physical devices: they contain a device link.
func entries(root, folder string) []string {
	list, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range list[:min(len(list), maxDevices)] {
		if _, err := os.Stat(filepath.Join(root, folder, e.Name(), "device")); err == nil {
			names = append(names, e.Name())
		}
	}
	return names
}

func caches(root string) []Cache {
	const folder = "sys/devices/system/cpu/cpu0/cache"
	list, err := filepath.Glob(filepath.Join(root, folder, "index[0-9]*"))
	if err != nil {
		return nil
	}
	var all []Cache
	for _, path := range list[:min(len(list), maxDevices)] {
		at := filepath.Join(folder, filepath.Base(path))
		if c := (Cache{number(text(root, at, "level")), text(root, at, "type"), text(root, at, "size")}); c.Level > 0 &&
			c.Size != "" {
			all = append(all, c)
		}
	}
	ordering.Sort(all, func(a, b Cache) int { return cmp.Or(a.Level-b.Level, strings.Compare(a.Type, b.Type)) })
	return all
}

// sectorSize is the unit of /sys/block/*/size, whatever the device's own is.
const sectorSize = 512

func disks(root string) []Disk {
	const folder = "sys/block"
	var all []Disk
	for _, name := range entries(root, folder) {
		at := filepath.Join(folder, name)
		d := Disk{Name: name, Model: text(root, at, "device/model"), Rotational: text(root, at, "queue/rotational") == "1"}
		if d.Bytes = int64(number(text(root, at, "size"))) * sectorSize; d.Bytes > 0 && text(root, at, "removable") != "1" {
			all = append(all, d)
		}
	}
	return all
}

// infiniBand is the kernel's number of that kind of interface (ARPHRD_INFINIBAND).
const infiniBand = "32"

func networks(root string) []Network {
	const folder = "sys/class/net"
	var all []Network
	for _, name := range entries(root, folder) {
		at := filepath.Join(folder, name)
		n := Network{Name: name, InfiniBand: text(root, at, "type") == infiniBand, SpeedMbit: number(text(root, at, "speed"))}
		if driver, err := os.Readlink(filepath.Join(root, at, "device/driver")); err == nil {
			n.Driver = filepath.Base(driver)
		}
		all = append(all, n)
	}
	return all
}

// String returns the cache as a description names it, such as L1d 32K.
func (c Cache) String() string {
	kind := map[string]string{"Data": "d", "Instruction": "i"}[c.Type]
	return fmt.Sprintf("L%d%s %s", c.Level, kind, c.Size)
}
