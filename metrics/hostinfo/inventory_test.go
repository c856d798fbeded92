package hostinfo

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

type linked []Accelerator

func (l linked) details() []Accelerator { return l }

func TestInspectThisMachine(t *testing.T) {
	inv := Inspect()
	require.Positive(t, inv.CPUs)
	require.Len(t, inv.Accelerators, len(inv.GPUs))
	t.Logf("%+v", inv)
}

func TestInspectAnotherMachine(t *testing.T) {
	root := machine(t, map[string]string{
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: Example CPU\nphysical id\t: 0\ncpu cores\t: 64\n",
		"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq":  "3700000\n",
		"sys/devices/system/cpu/cpu0/cache/index0/level":        "1\n",
		"sys/devices/system/cpu/cpu0/cache/index0/type":         "Data\n",
		"sys/devices/system/cpu/cpu0/cache/index0/size":         "48K\n",
		"sys/devices/system/cpu/cpu0/cache/index3/level":        "3\n",
		"sys/devices/system/cpu/cpu0/cache/index3/type":         "Unified\n",
		"sys/devices/system/cpu/cpu0/cache/index3/size":         "32768K\n",
		"sys/block/nvme0n1/size":                                "7814037168\n",
		"sys/block/nvme0n1/queue/rotational":                    "0\n",
		"sys/block/nvme0n1/device/model":                        "Example SSD\n",
		"sys/block/sr0/size":                                    "100\n",
		"sys/block/sr0/removable":                               "1\n",
		"sys/block/sr0/device/model":                            "DVD\n",
		"sys/block/loop0/size":                                  "100\n", // has no device
		"sys/class/net/eth0/type":                               "1\n",
		"sys/class/net/eth0/speed":                              "100000\n",
		"sys/class/net/eth0/device/x":                           "",
		"sys/class/net/ib0/type":                                "32\n",
		"sys/class/net/ib0/speed":                               "-1\n", // not connected
		"sys/class/net/ib0/device/x":                            "",
		"sys/class/net/lo/type":                                 "772\n",
		"sys/bus/pci/drivers/example/x":                         "",
		"sys/devices/system/cpu/cpu0/cache/index9/type":         "Odd\n", // neither level nor size
		"sys/devices/system/cpu/cpu0/cache/power/control":       "auto\n",
		"sys/devices/system/cpu/cpu0/cache/index9/level_of_odd": "x",
	})
	require.NoError(t, os.Symlink(filepath.Join(root, "sys/bus/pci/drivers/example"),
		filepath.Join(root, "sys/class/net/eth0/device/driver")))
	gpu := linked{{ClockMHz: 1980, PCIeGen: 5, PCIeLane: 16, NVLinks: 18}}
	inv := inspect(root, gpuList{[]GPU{{Name: "G"}}, "1", nil}, gpu)
	require.Equal(t, 64, inv.CoresPerSocket)
	require.Equal(t, 3700, inv.MaxMHz)
	require.Equal(t, []Cache{{1, "Data", "48K"}, {3, "Unified", "32768K"}}, inv.Caches)
	require.Equal(t, "L1d 48K", inv.Caches[0].String())
	require.Equal(t, "L3 32768K", inv.Caches[1].String())
	require.Equal(t, []Disk{{Name: "nvme0n1", Model: "Example SSD", Bytes: 4000787030016}}, inv.Disks)
	require.Equal(t, []Network{{Name: "eth0", SpeedMbit: 100000, Driver: "example"}, {Name: "ib0", InfiniBand: true}},
		inv.Networks)
	require.Equal(t, []Accelerator(gpu), inv.Accelerators)
}

func TestInspectWhereNothingCanBeFound(t *testing.T) {
	inv := inspect(t.TempDir(), gpuList{err: errors.New("none")}, linked{{ClockMHz: 1}})
	inv.Facts = Facts{}
	require.Equal(t, Inventory{}, inv)
}
