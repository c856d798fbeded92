//go:build cgo

package hostinfo

import (
	"fmt"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/stretchr/testify/require"
)

// gpuLibrary simulates NVIDIA's library on a machine with n GPUs, because few machines that run this test have any. It
// answers the calls in refused with an error.
func gpuLibrary(count int, refused ...string) *mock.Interface {
	answer := func(call string) nvml.Return {
		for _, r := range refused {
			if r == call {
				return nvml.ERROR_NOT_SUPPORTED
			}
		}
		return nvml.SUCCESS
	}
	return &mock.Interface{
		InitFunc:                   func() nvml.Return { return answer("init") },
		ShutdownFunc:               func() nvml.Return { return nvml.SUCCESS },
		ErrorStringFunc:            func(nvml.Return) string { return "it will not" },
		SystemGetDriverVersionFunc: func() (string, nvml.Return) { return "570.1", answer("version") },
		DeviceGetCountFunc:         func() (int, nvml.Return) { return count, answer("count") },
		DeviceGetHandleByIndexFunc: func(i int) (nvml.Device, nvml.Return) {
			return &mock.Device{
				GetNameFunc:       func() (string, nvml.Return) { return "Example GPU", answer("name") },
				GetUUIDFunc:       func() (string, nvml.Return) { return fmt.Sprintf("GPU-%d", i), answer("uuid") },
				GetMemoryInfoFunc: func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 80 << 30}, answer("memory") },
			}, answer("handle")
		},
	}
}

func TestGPUsOfADriver(t *testing.T) {
	two := []GPU{{Name: "Example GPU", UUID: "GPU-0", MemoryBytes: 80 << 30},
		{Name: "Example GPU", UUID: "GPU-1", MemoryBytes: 80 << 30}}
	for name, c := range map[string]struct {
		lib    *mock.Interface
		gpus   []GPU
		driver string
		err    string
	}{
		"two":                {gpuLibrary(2), two, "570.1", ""},
		"without a version":  {gpuLibrary(2, "version"), two, "", ""},
		"whose memory hides": {gpuLibrary(1, "memory"), []GPU{{Name: "Example GPU", UUID: "GPU-0"}}, "570.1", ""},
		"none":               {gpuLibrary(0), nil, "570.1", "an NVIDIA driver, but no GPU"},
		"that does not run":  {gpuLibrary(2, "init"), nil, "", "NVIDIA's management library does not start: it will not"},
		"that cannot count":  {gpuLibrary(2, "count"), nil, "570.1", "does not count its GPUs: it will not"},
		"that lost one":      {gpuLibrary(2, "handle"), nil, "570.1", "does not describe GPU 0: it will not"},
		"without a name":     {gpuLibrary(2, "name"), nil, "570.1", "does not describe GPU 0: it will not"},
	} {
		t.Run(name, func(t *testing.T) {
			gpus, driver, err := listGPUs(c.lib)
			require.Equal(t, c.gpus, gpus)
			require.Equal(t, c.driver, driver)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
			if c.lib.Init() == nvml.SUCCESS {
				require.Len(t, c.lib.ShutdownCalls(), 1, "what was opened is closed")
			}
		})
	}
	many, _, err := listGPUs(gpuLibrary(1 << 20))
	require.NoError(t, err)
	require.Len(t, many, maxGPUs)
}

func TestGPUTable(t *testing.T) {
	lib := gpuLibrary(2)
	lib.SystemGetCudaDriverVersionFunc = func() (int, nvml.Return) { return 12080, nvml.SUCCESS }
	name := [32]int8{'0', ':', '1'}
	lib.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		return &mock.Device{
			GetNameFunc:                  func() (string, nvml.Return) { return "Example GPU", nvml.SUCCESS },
			GetUUIDFunc:                  func() (string, nvml.Return) { return "GPU-0", nvml.SUCCESS },
			GetVbiosVersionFunc:          func() (string, nvml.Return) { return "", nvml.ERROR_NOT_SUPPORTED },
			GetMemoryInfoFunc:            func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 1}, nvml.SUCCESS },
			GetPciInfoFunc:               func() (nvml.PciInfo, nvml.Return) { return nvml.PciInfo{BusId: name}, nvml.SUCCESS },
			GetEnforcedPowerLimitFunc:    func() (uint32, nvml.Return) { return 700_000, nvml.SUCCESS },
			GetCudaComputeCapabilityFunc: func() (int, int, nvml.Return) { return 9, 0, nvml.SUCCESS },
			GetEccModeFunc: func() (nvml.EnableState, nvml.EnableState, nvml.Return) {
				return nvml.FEATURE_ENABLED, nvml.FEATURE_DISABLED, nvml.SUCCESS
			},
			GetMigModeFunc:         func() (int, int, nvml.Return) { return 0, 0, nvml.ERROR_NOT_SUPPORTED },
			GetPersistenceModeFunc: func() (nvml.EnableState, nvml.Return) { return nvml.FEATURE_DISABLED, nvml.SUCCESS },
			GetComputeModeFunc: func() (nvml.ComputeMode, nvml.Return) {
				return nvml.COMPUTEMODE_EXCLUSIVE_PROCESS, nvml.SUCCESS
			},
			GetMaxClockInfoFunc:          func(nvml.ClockType) (uint32, nvml.Return) { return 1980, nvml.SUCCESS },
			GetMaxPcieLinkGenerationFunc: func() (int, nvml.Return) { return 5, nvml.SUCCESS },
			GetMaxPcieLinkWidthFunc:      func() (int, nvml.Return) { return 16, nvml.SUCCESS },
			GetNvLinkStateFunc: func(link int) (nvml.EnableState, nvml.Return) {
				return nvml.EnableState(link % 2), nvml.SUCCESS
			},
		}, nvml.SUCCESS
	}
	rows, cuda := gpuTable(lib)
	require.Equal(t, "12.8", cuda)
	require.Len(t, rows, 2)
	require.Equal(t, GPUDevice{Index: 1, Name: "Example GPU", UUID: "GPU-0", PCI: "0:1", MemoryBytes: 1, PowerLimitW: 700,
		MaxClockMHz: 1980, PCIeGen: 5, PCIeLanes: 16, NVLinks: nvml.NVLINK_MAX_LINKS / 2, Compute: "9.0", ECC: "on",
		Persistence: "off", ExclusiveMode: true}, rows[1])

	rows, _ = gpuTable(&mock.Interface{InitFunc: func() nvml.Return { return nvml.ERROR_LIBRARY_NOT_FOUND }})
	require.NotNil(t, rows)
	require.Empty(t, rows)
}
