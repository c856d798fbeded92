//go:build cgo

package gpu

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/stretchr/testify/require"
)

// library simulates NVIDIA's library on a machine with two GPUs, because few machines that run this test have any. GPU
// 1 does not measure its energy.
func library(init nvml.Return) *mock.Interface {
	return &mock.Interface{
		InitFunc:           func() nvml.Return { return init },
		ShutdownFunc:       func() nvml.Return { return nvml.SUCCESS },
		DeviceGetCountFunc: func() (int, nvml.Return) { return 2, nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(i int) (nvml.Device, nvml.Return) {
			return &mock.Device{
				GetNameFunc:       func() (string, nvml.Return) { return "Example GPU", nvml.SUCCESS },
				GetUUIDFunc:       func() (string, nvml.Return) { return "GPU-x", nvml.SUCCESS },
				GetPowerUsageFunc: func() (uint32, nvml.Return) { return 350_500, nvml.SUCCESS },
				GetTotalEnergyConsumptionFunc: func() (uint64, nvml.Return) {
					return 9_000_000, []nvml.Return{nvml.SUCCESS, nvml.ERROR_NOT_SUPPORTED}[i]
				},
				GetUtilizationRatesFunc: func() (nvml.Utilization, nvml.Return) {
					return nvml.Utilization{Gpu: 93}, nvml.SUCCESS
				},
				GetMemoryInfoFunc: func() (nvml.Memory, nvml.Return) {
					return nvml.Memory{Total: 80 << 30, Used: 70 << 30}, nvml.SUCCESS
				},
				GetClockInfoFunc: func(c nvml.ClockType) (uint32, nvml.Return) {
					return map[nvml.ClockType]uint32{nvml.CLOCK_SM: 1980}[c], nvml.SUCCESS
				},
			}, nvml.SUCCESS
		},
	}
}

func TestNVIDIA(t *testing.T) {
	lib := library(nvml.SUCCESS)
	s := newSource(nvidia(lib))
	require.NotNil(t, s)
	known, values, err := s.Read()
	require.NoError(t, err)
	require.Equal(t, []float64{350.5, 9000, .93, 70 << 30, 80 << 30, 1980e6}, values[:figures])
	require.NotEqual(t, values[figures+int(energy)], values[figures+int(energy)], "absent is NaN")
	require.Equal(t, map[string]string{"gpu": "1", "id": "GPU-x", "name": "Example GPU"}, known[figures].Labels)
	s.Close()
	require.Len(t, lib.ShutdownCalls(), 1, "what was opened is closed")

	require.Nil(t, newSource(nvidia(library(nvml.ERROR_LIBRARY_NOT_FOUND))))
}
