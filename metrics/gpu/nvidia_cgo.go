//go:build cgo

package gpu

import "github.com/NVIDIA/go-nvml/pkg/nvml"

func openNVIDIA() (devices []device, closeLibrary func()) { return nvidia(nvml.New()) }

// nvidia lists the GPUs of NVIDIA's management library. Without the library the list is empty.
func nvidia(lib nvml.Interface) (devices []device, closeLibrary func()) {
	if lib.Init() != nvml.SUCCESS {
		return nil, func() {}
	}
	closeLibrary = func() { lib.Shutdown() }
	count, ret := lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, closeLibrary
	}
	for i := range min(count, maxGPUs) {
		handle, ret := lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue
		}
		d := device{read: func() reading { return readNVIDIA(handle) }}
		if d.name, ret = handle.GetName(); ret != nvml.SUCCESS {
			d.name = "NVIDIA GPU"
		}
		if d.id, ret = handle.GetUUID(); ret != nvml.SUCCESS {
			d.id = ""
		}
		devices = append(devices, d)
	}
	return devices, closeLibrary
}

// readNVIDIA converts the library's units: milliwatts, millijoules, percent, megahertz.
func readNVIDIA(d nvml.Device) reading {
	r := absent()
	if mw, ret := d.GetPowerUsage(); ret == nvml.SUCCESS {
		r[power] = float64(mw) / 1e3
	}
	if mj, ret := d.GetTotalEnergyConsumption(); ret == nvml.SUCCESS {
		r[energy] = float64(mj) / 1e3
	}
	if u, ret := d.GetUtilizationRates(); ret == nvml.SUCCESS {
		r[utilization] = float64(u.Gpu) / 100
	}
	if m, ret := d.GetMemoryInfo(); ret == nvml.SUCCESS {
		r[memoryUsed], r[memory] = float64(m.Used), float64(m.Total)
	}
	if mhz, ret := d.GetClockInfo(nvml.CLOCK_SM); ret == nvml.SUCCESS {
		r[clock] = float64(mhz) * 1e6
	}
	return r
}
