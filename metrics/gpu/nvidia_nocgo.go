//go:build !cgo

package gpu

// openNVIDIA finds no GPU, because NVIDIA's library is opened through cgo.
func openNVIDIA() (devices []device, closeLibrary func()) { return nil, func() {} }
