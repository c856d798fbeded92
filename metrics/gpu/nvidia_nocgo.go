//go:build !cgo

package gpu

// openNVIDIA finds no GPU: cgo opens NVIDIA's library.
func openNVIDIA() (devices []device, closeLibrary func()) { return nil, func() {} }
