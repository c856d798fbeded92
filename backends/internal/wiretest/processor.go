package wiretest

import (
	"syscall"
	"time"
)

// ProcessorTime returns the processor time of this process, its collector included. Other processes do not add to it.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for wrong arguments only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
