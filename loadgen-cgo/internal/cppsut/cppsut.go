//go:build cgo && !noloadgen

package cppsut

// #cgo CPPFLAGS: -I${SRCDIR}/../../../third_party/loadgen/include
// #cgo CXXFLAGS: -std=c++17 -O2 -Wall -Wextra -Wno-unused-parameter
// #cgo LDFLAGS: -L${SRCDIR}/../../../third_party/loadgen/lib -lmlperf_loadgen -lpthread -lm
// #include <stdlib.h>
// #include "cppsut.h"
import "C"

import (
	"os"
	"unsafe"
)

// Run runs one Server test of the given rate and number of queries. A C++ thread reports each query's first token and
// answer immediately. Run returns an error if the log folder is missing, because LoadGen would not report that.
func Run(outDir, audit string, qps float64, queries uint64, total int, trace bool) error {
	if _, err := os.Stat(outDir); err != nil {
		return err
	}
	cdir, caudit := C.CString(outDir), C.CString(audit)
	defer C.free(unsafe.Pointer(cdir))
	defer C.free(unsafe.Pointer(caudit))
	withTrace := C.int(0)
	if trace {
		withTrace = 1
	}
	C.cppsut_run(cdir, caudit, C.double(qps), C.uint64_t(queries), C.size_t(total), withTrace)
	return nil
}
