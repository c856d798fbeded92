//go:build cgo

package hostinfo

import (
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// nvidia lists GPUs through NVIDIA's management library, which is opened at run time.
type nvidia struct{}

// maxGPUs bounds the loop over GPUs if a broken driver reports too many.
const maxGPUs = 1024

func (nvidia) list() ([]GPU, string, error) { return listGPUs(nvml.New()) }

func listGPUs(lib nvml.Interface) ([]GPU, string, error) {
	switch ret := lib.Init(); ret {
	case nvml.SUCCESS:
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, "", errors.New("no NVIDIA driver: its management library is not installed")
	default:
		return nil, "", fmt.Errorf("NVIDIA's management library does not start: %s", lib.ErrorString(ret))
	}
	defer lib.Shutdown()
	driver, ret := lib.SystemGetDriverVersion()
	if ret != nvml.SUCCESS {
		driver = ""
	}
	count, ret := lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, driver, fmt.Errorf("the NVIDIA driver does not count its GPUs: %s", lib.ErrorString(ret))
	}
	var gpus []GPU
	for i := range min(count, maxGPUs) {
		gpu, ret := describeGPU(lib, i)
		if ret != nvml.SUCCESS {
			return gpus, driver, fmt.Errorf("the NVIDIA driver does not describe GPU %d: %s", i, lib.ErrorString(ret))
		}
		gpus = append(gpus, gpu)
	}
	if len(gpus) == 0 {
		return nil, driver, errors.New("an NVIDIA driver, but no GPU")
	}
	return gpus, driver, nil
}

func describeGPU(lib nvml.Interface, i int) (GPU, nvml.Return) {
	device, ret := lib.DeviceGetHandleByIndex(i)
	if ret != nvml.SUCCESS {
		return GPU{}, ret
	}
	var gpu GPU
	if gpu.Name, ret = device.GetName(); ret != nvml.SUCCESS {
		return GPU{}, ret
	}
	if gpu.UUID, ret = device.GetUUID(); ret != nvml.SUCCESS {
		return GPU{}, ret
	}
	// A partitioned or unified-memory device may not report its memory; its name is still useful.
	if memory, ret := device.GetMemoryInfo(); ret == nvml.SUCCESS {
		gpu.MemoryBytes = int64(memory.Total)
	}
	return gpu, nvml.SUCCESS
}

// details fills the figures that a system description needs. Figures that the driver does not report stay 0.
func (nvidia) details() []Accelerator {
	lib := nvml.New()
	if lib.Init() != nvml.SUCCESS {
		return nil
	}
	defer lib.Shutdown()
	count, ret := lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil
	}
	var all []Accelerator
	for i := range min(count, maxGPUs) {
		device, ret := lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			return all
		}
		all = append(all, describeAccelerator(device))
	}
	return all
}

func describeAccelerator(device nvml.Device) Accelerator {
	var a Accelerator
	if mhz, ret := device.GetMaxClockInfo(nvml.CLOCK_SM); ret == nvml.SUCCESS {
		a.ClockMHz = int(mhz)
	}
	if gen, ret := device.GetMaxPcieLinkGeneration(); ret == nvml.SUCCESS {
		a.PCIeGen = gen
	}
	if lanes, ret := device.GetMaxPcieLinkWidth(); ret == nvml.SUCCESS {
		a.PCIeLane = lanes
	}
	for link := range nvml.NVLINK_MAX_LINKS {
		if state, ret := device.GetNvLinkState(link); ret == nvml.SUCCESS && state == nvml.FEATURE_ENABLED {
			a.NVLinks++
		}
	}
	return a
}
