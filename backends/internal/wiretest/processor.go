package wiretest

import (
	"syscall"
	"time"
)

// ProcessorTime is what this process has used. A neighbour on its processor takes none of it, and the collector's
// threads do.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for wrong arguments alone
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
