package ledger

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// MaxResident bounds the entries that are resident before the test, in samples.
const MaxResident = 1 << 18

// reside makes the memory of a new list resident, in huge pages if the kernel has any. Otherwise the first sample of
// each page waits for the kernel (docs/reference/measurements.md#memory-of-the-ledger).
func reside[T any](list []T) {
	if len(list) == 0 {
		return
	}
	memory := unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))
	page := os.Getpagesize()
	if before := int(-uintptr(unsafe.Pointer(&memory[0])) % uintptr(page)); before < len(memory) {
		_ = unix.Madvise(memory[before:], unix.MADV_HUGEPAGE) // small pages work too
	}
	for i := 0; i < len(memory); i += page {
		memory[i] = 0
	}
}
