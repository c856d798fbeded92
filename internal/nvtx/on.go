//go:build nvtx && cgo

package nvtx

// #cgo CFLAGS: -O2 -Wall -Wextra
// #cgo LDFLAGS: -ldl
// #cgo nocallback nvtx_next
// #include "nvtx.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// On reports whether this program marks ranges.
const On = true

// libraries lists the names of NVTX's library, the newest first. Both have the same functions.
var libraries = []string{"libnvtx3interop.so.1", "libnvToolsExt.so.1"}

// Open loads NVTX's library with the dynamic loader. The library loads the tool that the environment variable
// NVTX_INJECTION64_PATH names, if it is set. Before Open no ranges are marked.
func Open() error {
	var why []string
	for _, name := range libraries {
		c := C.CString(name)
		fault := C.nvtx_open(c)
		C.nvtx_free(unsafe.Pointer(c))
		if fault == nil {
			return nil
		}
		why = append(why, fmt.Sprintf("%s: %s", name, C.GoString(fault)))
	}
	return errors.New("NVTX's library cannot be loaded: " + strings.Join(why, "; "))
}

// Next ends the range of a sample and begins the range of phase p, unless p is End. A sample that LoadGen did not
// issue, or that has ended, has no range. One thread at a time owns a sample.
func Next(seq int, p Phase) { C.nvtx_next(C.int64_t(seq), C.int32_t(p)) }

// Hooks returns two functions of C for LoadGen's thread: void issue(uint64_t seq), called before the client can take a
// sample, and void flush(void), called after the last one.
func Hooks() (issue, flush unsafe.Pointer) {
	return unsafe.Pointer(C.nvtx_issue_hook()), unsafe.Pointer(C.nvtx_flush_hook())
}
