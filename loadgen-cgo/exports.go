//go:build cgo && !noloadgen

package loadgen

// #include <stdint.h>
// #include <stddef.h>
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"
)

// The only two calls from C into Go (rule 7 of bridge.h). Each looks up the handle, calls the handle's function and
// keeps the error.

//export go_load_samples
func go_load_samples(handle C.uintptr_t, indices *C.uint64_t, n C.size_t) {
	l := cgo.Handle(handle).Value().(*sampleLoader)
	l.call("load", l.load, indices, n)
}

//export go_unload_samples
func go_unload_samples(handle C.uintptr_t, indices *C.uint64_t, n C.size_t) {
	l := cgo.Handle(handle).Value().(*sampleLoader)
	l.call("unload", l.unload, indices, n)
}

func (l *sampleLoader) call(what string, f func([]int) error, indices *C.uint64_t, n C.size_t) {
	list := make([]int, int(n))
	for i, v := range unsafe.Slice(indices, int(n)) {
		list[i] = int(v)
	}
	err := f(list)
	if err == nil || l.err != nil {
		return
	}
	l.err = fmt.Errorf("the sample library failed to %s %d samples: %w", what, len(list), err)
	if l.failed != nil {
		l.failed(l.err)
	}
}
