//go:build cgo && !noloadgen && nvtx

package loadgen

// #cgo CPPFLAGS: -DLG_NVTX
// #include "bridge.h"
import "C"

import "github.com/mlperf-go/mlperf-go/internal/nvtx"

// LoadGen's thread marks the samples that it issues. The functions do nothing before nvtx.Open is called.
func init() {
	issue, flush := nvtx.Hooks()
	C.lg_on_issue, C.lg_on_flush = (*[0]byte)(issue), (*[0]byte)(flush)
}
