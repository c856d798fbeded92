//go:build cgo

package hostinfo

import (
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func (nvidia) table() ([]GPUDevice, string) { return gpuTable(nvml.New()) }

func gpuTable(lib nvml.Interface) (rows []GPUDevice, cuda string) {
	rows = []GPUDevice{}
	if lib.Init() != nvml.SUCCESS {
		return rows, ""
	}
	defer lib.Shutdown()
	if v, ret := lib.SystemGetCudaDriverVersion(); ret == nvml.SUCCESS {
		cuda = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	count, ret := lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return rows, cuda
	}
	for i := range min(count, maxGPUs) {
		device, ret := lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			return rows, cuda
		}
		rows = append(rows, gpuRow(device, i))
	}
	return rows, cuda
}

// gpuRow asks one GPU for all figures. Those that it does not report stay empty.
func gpuRow(device nvml.Device, i int) GPUDevice {
	a := describeAccelerator(device)
	g := GPUDevice{Index: i, MaxClockMHz: a.ClockMHz, PCIeGen: a.PCIeGen, PCIeLanes: a.PCIeLane, NVLinks: a.NVLinks}
	g.Name, _ = device.GetName()
	g.UUID, _ = device.GetUUID()
	g.VBIOS, _ = device.GetVbiosVersion()
	if memory, ret := device.GetMemoryInfo(); ret == nvml.SUCCESS {
		g.MemoryBytes = int64(memory.Total)
	}
	if pci, ret := device.GetPciInfo(); ret == nvml.SUCCESS {
		g.PCI = characters(pci.BusId[:])
	}
	if milliwatts, ret := device.GetEnforcedPowerLimit(); ret == nvml.SUCCESS {
		g.PowerLimitW = float64(milliwatts) / 1000
	}
	if major, minor, ret := device.GetCudaComputeCapability(); ret == nvml.SUCCESS {
		g.Compute = fmt.Sprintf("%d.%d", major, minor)
	}
	if now, _, ret := device.GetEccMode(); ret == nvml.SUCCESS {
		g.ECC = onOff(now == nvml.FEATURE_ENABLED)
	}
	if now, _, ret := device.GetMigMode(); ret == nvml.SUCCESS {
		g.MIG = onOff(now == nvml.DEVICE_MIG_ENABLE)
	}
	if now, ret := device.GetPersistenceMode(); ret == nvml.SUCCESS {
		g.Persistence = onOff(now == nvml.FEATURE_ENABLED)
	}
	if mode, ret := device.GetComputeMode(); ret == nvml.SUCCESS {
		g.ExclusiveMode = mode == nvml.COMPUTEMODE_EXCLUSIVE_PROCESS || mode == nvml.COMPUTEMODE_EXCLUSIVE_THREAD
	}
	return g
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// characters returns the text of a C array that ends with a zero.
func characters(array []int8) string {
	var b strings.Builder
	for _, c := range array {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}
