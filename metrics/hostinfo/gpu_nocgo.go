//go:build !cgo

package hostinfo

import "errors"

// nvidia fails, because the library is opened through cgo.
type nvidia struct{}

func (nvidia) list() ([]GPU, string, error) {
	return nil, "", errors.New("GPUs are not listed: this program was built without cgo")
}

func (nvidia) details() []Accelerator { return nil }

func (nvidia) table() ([]GPUDevice, string) { return []GPUDevice{}, "" }
