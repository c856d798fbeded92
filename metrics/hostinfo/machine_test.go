package hostinfo

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type gpuRows []GPUDevice

func (g gpuRows) table() ([]GPUDevice, string) { return g, "12.8" }

func TestDescribeAnotherMachine(t *testing.T) {
	root := machine(t, map[string]string{
		"proc/version": "Linux version 6.1.0 (builder) #1 SMP\n",
		"proc/cmdline": "root=/dev/sda1 isolcpus=2-3\n",
		"proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units     \n" +
			"Max open files            1024                 524288               files     \n" +
			"Max nice priority         0                    0                    \n" +
			"Max locked memory         unlimited            unlimited            bytes     \nrubbish\n",
		"proc/self/cgroup":                           "1:cpu:/old\n0::/pod/x\n",
		"sys/fs/cgroup/pod/x/cpu.max":                "200000 100000\n",
		"sys/fs/cgroup/pids.max":                     "max\n",
		"sys/devices/system/node/node10/cpulist":     "8-15\n",
		"sys/devices/system/node/node2/cpulist":      "0-7\n",
		"sys/devices/system/node/node2/distance":     "10 20\n",
		"sys/devices/system/node/node2/meminfo":      "Node 2 MemTotal:       2048 kB\nNode 2 MemFree: 1 kB\n",
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
	})
	m := describeMachine(root, gpuList{gpus: []GPU{{Name: "A"}}}, gpuRows{{Name: "A", PCI: "0000:01:00.0"}})
	require.Equal(t, []Limit{{"open files", "1024", "524288", "files"}, {"nice priority", "0", "0", ""},
		{"locked memory", "unlimited", "unlimited", "bytes"}}, m.Limits)
	require.Equal(t, []Setting{{"cpu.max", "200000 100000"}, {"pids.max", "max"}}, m.Cgroup)
	require.Equal(t, []NUMANode{{Number: 2, CPUs: "0-7", MemoryBytes: 2 << 20, Distances: "10 20"},
		{Number: 10, CPUs: "8-15"}}, m.NUMA)
	require.Equal(t, "root=/dev/sda1 isolcpus=2-3", m.KernelCommand)
	require.Equal(t, "always [madvise] never", m.HugePages)
	require.Equal(t, "0000:01:00.0", m.Devices[0].PCI)
	require.Equal(t, "12.8", m.CUDA)
}

func TestDescribeAnEmptyMachine(t *testing.T) {
	m := describeMachine(t.TempDir(), gpuList{}, gpuRows{{Name: "not asked"}})
	require.Empty(t, m.Devices)
	require.NotNil(t, m.Devices)
	require.NotNil(t, m.Limits)
}

func TestCgroupOutsideItsFolder(t *testing.T) {
	root := machine(t, map[string]string{"proc/self/cgroup": "0::/../../secret\n", "sys/secret/pids.max": "7",
		"secret/pids.max": "8"})
	require.Empty(t, cgroup(root))
}

func TestDescribeThisMachine(t *testing.T) {
	m := Describe()
	require.NotEmpty(t, m.Limits)
	require.NotEmpty(t, m.KernelBuild)
}

func TestVariables(t *testing.T) {
	require.Equal(t, map[string]string{"PATH": "/bin", "CUDA_VISIBLE_DEVICES": ""},
		Variables([]string{"PATH=/bin", "HF_TOKEN=hf_x", "CUDA_VISIBLE_DEVICES=", "OTHER"}))
}
