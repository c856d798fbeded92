package gpu

import (
	"errors"
	"math"
	"strconv"

	"github.com/mlperf-go/mlperf-go/metrics/exposition"
)

// figure is an index of reading.
type figure int

const (
	power figure = iota
	energy
	utilization
	memoryUsed
	memory
	clock
	figures int = iota
)

// series are the names of the figures (docs/reference/metrics.md#gpus).
var series = [figures]exposition.Series{
	power:       {Name: "gpu_power_watts", Kind: exposition.Gauge},
	energy:      {Name: "gpu_energy_joules_total", Kind: exposition.Counter},
	utilization: {Name: "gpu_utilization", Kind: exposition.Gauge},
	memoryUsed:  {Name: "gpu_memory_used_bytes", Kind: exposition.Gauge},
	memory:      {Name: "gpu_memory_bytes", Kind: exposition.Gauge},
	clock:       {Name: "gpu_clock_hertz", Kind: exposition.Gauge},
}

// reading has the figures of a GPU at one time; NaN: not reported.
type reading [figures]float64

func absent() reading {
	var r reading
	for i := range r {
		r[i] = math.NaN()
	}
	return r
}

// device is one GPU.
type device struct {
	name, id string
	read     func() reading
}

// maxGPUs bounds the list in case a driver is broken.
const maxGPUs = 1024

// Source reads the GPUs. It has one owner.
type Source struct {
	devices []device
	known   []exposition.Series
	values  []float64
	close   func()
}

// Open finds the GPUs. root is "/", or a folder that contains a copy of /sys. It returns nil if there is no GPU.
func Open(root string) *Source {
	devices, closeLibrary := openNVIDIA()
	return newSource(append(devices, findAMD(root)...), closeLibrary)
}

func newSource(devices []device, closeLibrary func()) *Source {
	if len(devices) == 0 {
		closeLibrary()
		return nil
	}
	s := &Source{devices: devices[:min(len(devices), maxGPUs)], close: closeLibrary}
	for i, d := range s.devices {
		for _, one := range series {
			one.Family = one.Name
			one.Labels = map[string]string{"gpu": strconv.Itoa(i), "id": d.id, "name": d.name}
			s.known = append(s.known, one)
		}
	}
	s.values = make([]float64, len(s.known))
	return s
}

// Read returns the figures of every GPU: values[i] of known[i]. They are valid until the next call. It is an error if
// no GPU reports any.
func (s *Source) Read() (known []exposition.Series, values []float64, err error) {
	some := false
	for i, d := range s.devices {
		for k, v := range d.read() {
			s.values[i*figures+k] = v
			some = some || !math.IsNaN(v)
		}
	}
	if !some {
		return s.known, nil, errors.New("the driver reports no figure of any GPU")
	}
	return s.known, s.values, nil
}

// Close closes the management library.
func (s *Source) Close() { s.close() }
