// Package gpu reads power, energy, utilization, memory and clocks of the GPUs of this machine, as series that
// metrics/scrape records beside the servers' pages.
//
//	source, err := gpu.Open("/")   // nil without a GPU
//	known, values, err := source.Read()
//
// NVIDIA's GPUs are read through the management library, which is opened at run time; AMD's through files of the amdgpu
// driver below /sys. A figure that a driver does not report is absent.
//
// It imports metrics/exposition for the description of a series, and prints nothing.
package gpu
