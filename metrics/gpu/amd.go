package gpu

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// amdVendor is AMD's number on the PCI bus.
const amdVendor = "0x1002"

// maxFile bounds a file of /sys; a real one has a few bytes.
const maxFile = 4 << 10

// findAMD lists the GPUs of the amdgpu driver. Its files and their units are described in the kernel's documentation
// (https://docs.kernel.org/gpu/amdgpu/thermal.html): power in microwatts, clocks in hertz, use in percent, memory in
// bytes.
func findAMD(root string) (devices []device) {
	cards, err := filepath.Glob(filepath.Join(root, "sys/class/drm/card[0-9]*/device"))
	if err != nil {
		return nil
	}
	for _, card := range cards[:min(len(cards), maxGPUs)] {
		// connectors such as card0-DP-1 have a device too
		if strings.Contains(filepath.Base(filepath.Dir(card)), "-") || firstLine(card, "vendor") != amdVendor {
			continue
		}
		d := device{name: firstLine(card, "product_name"), id: firstLine(card, "unique_id"),
			read: func() reading { return readAMD(card) }}
		if d.name == "" {
			d.name = "AMD GPU " + firstLine(card, "device")
		}
		devices = append(devices, d)
	}
	return devices
}

func readAMD(card string) reading {
	r := absent()
	r[utilization] = number(card, "gpu_busy_percent") / 100
	r[memoryUsed], r[memory] = number(card, "mem_info_vram_used"), number(card, "mem_info_vram_total")
	sensors, err := filepath.Glob(filepath.Join(card, "hwmon/hwmon[0-9]*"))
	if err != nil || len(sensors) == 0 {
		return r
	}
	at := sensors[0]
	r[clock] = number(at, "freq1_input")
	for _, name := range []string{"power1_average", "power1_input"} { // a GPU has one of them
		if w := number(at, name) / 1e6; !math.IsNaN(w) {
			r[power] = w
			break
		}
	}
	return r
}

// number returns the number in a file, or NaN.
func number(folder, name string) float64 {
	n, err := strconv.ParseInt(firstLine(folder, name), 10, 64)
	if err != nil || n < 0 {
		return math.NaN()
	}
	return float64(n)
}

// firstLine returns the first line of a file, or "".
func firstLine(folder, name string) string {
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}
