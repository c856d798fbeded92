package ledger

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reside makes the memory of new chunks resident, in huge pages if the kernel has any. Otherwise the first sample of
// each page waits for the kernel (docs/reference/measurements.md#memory-of-the-ledger).
func reside(chunks []chunk) {
	if len(chunks) == 0 {
		return
	}
	const size = int(unsafe.Sizeof(chunk{}))
	memory := unsafe.Slice((*byte)(unsafe.Pointer(&chunks[0])), len(chunks)*size)
	page := os.Getpagesize()
	if before := int(-uintptr(unsafe.Pointer(&memory[0])) % uintptr(page)); before < len(memory) {
		_ = unix.Madvise(memory[before:], unix.MADV_HUGEPAGE) // small pages work too
	}
	for i := 0; i < len(memory); i += page {
		memory[i] = 0
	}
}
