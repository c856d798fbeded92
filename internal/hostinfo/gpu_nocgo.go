//go:build !cgo

package hostinfo

import "errors"

// nvidia has no library without cgo.
type nvidia struct{}

func (nvidia) list() ([]GPU, string, error) {
	return nil, "", errors.New("GPUs are not listed: this program was built without cgo")
}

func (nvidia) details() []Accelerator { return nil }
