package hostinfo

import (
	"fmt"
	"os"
	"syscall"
)

// NoFile is the limit of open files, which is the limit of connections.
type NoFile struct {
	Before uint64 `json:"before"` // soft limit as found
	Now    uint64 `json:"now"`    // soft limit after raising
	Hard   uint64 `json:"hard"`
}

// RaiseNoFile raises the soft limit of open files to the hard limit. If that is below want, it returns the limits and
// an error with the command to type.
func RaiseNoFile(want uint64) (NoFile, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return NoFile{}, fmt.Errorf("reading the limit of open files: %w", err)
	}
	n := NoFile{Before: l.Cur, Now: l.Cur, Hard: l.Max}
	if l.Cur < l.Max {
		// Package syscall makes child processes inherit the raised limit too.
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: l.Max, Max: l.Max}); err != nil {
			return n, fmt.Errorf("raising the limit of open files from %d to %d: %w", l.Cur, l.Max, err)
		}
		n.Now = l.Max
	}
	if n.Now < want {
		return n, fmt.Errorf("%d open files are needed and the hard limit is %d: raise it (ulimit -Hn %d as root, "+
			"LimitNOFILE "+
			"in the service, --ulimit nofile in the container) or lower the concurrency", want, n.Hard, want)
	}
	return n, nil
}

// portRange returns the range of ports for outgoing connections.
const portRange = "/proc/sys/net/ipv4/ip_local_port_range"

// LocalPorts returns the number of connections that this machine can open to one address and port.
func LocalPorts() (int, error) {
	text, err := os.ReadFile(portRange)
	if err != nil {
		return 0, err
	}
	return portsIn(string(text))
}

func portsIn(text string) (int, error) {
	var first, last int
	if _, err := fmt.Sscan(text, &first, &last); err != nil || first < 1 || last < first || last > 65535 {
		return 0, fmt.Errorf("%s contains %q, which is not a range of ports", portRange, text)
	}
	return last - first + 1, nil
}

func describe(what, on string, err error) error {
	return fmt.Errorf("%s %s: %w", what, on, err)
}
