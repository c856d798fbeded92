package machine

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/metrics/exposition"
)

// Source reads the load since the reading before. It has one owner.
type Source struct {
	stat        string
	busy, total float64       // of all CPUs, in ticks
	used        time.Duration // by this process
	at          time.Time
}

// Open returns the source of this machine. root is "/", or a folder that contains a copy of /proc. It returns nil if
// the system has no such file.
func Open(root string) *Source {
	s := &Source{stat: filepath.Join(root, "proc/stat")}
	if _, err := os.Stat(s.stat); err != nil {
		return nil
	}
	return s
}

var known = []exposition.Series{
	{Name: "machine_cpu_utilization", Family: "machine_cpu_utilization", Kind: exposition.Gauge},
	{Name: "process_cpu_cores", Family: "process_cpu_cores", Kind: exposition.Gauge},
}

// Read returns the share of the machine's CPUs that worked, and the number of CPUs that this process used, since the
// reading before. Both are NaN in the first one.
func (s *Source) Read() ([]exposition.Series, []float64, error) {
	busy, total, err := readStat(s.stat)
	if err != nil {
		return known, nil, err
	}
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return known, nil, fmt.Errorf("reading the CPU time of this process: %w", err)
	}
	now, used := time.Now(), time.Duration(usage.Utime.Nano()+usage.Stime.Nano())
	values := []float64{math.NaN(), math.NaN()}
	if !s.at.IsZero() && total > s.total {
		values[0] = min(max((busy-s.busy)/(total-s.total), 0), 1)
	}
	if took := now.Sub(s.at); !s.at.IsZero() && took > 0 {
		values[1] = float64(used-s.used) / float64(took)
	}
	s.busy, s.total, s.used, s.at = busy, total, used, now
	return known, values, nil
}

// Close does nothing: the file is opened for each reading.
func (s *Source) Close() {}

// maxLine bounds the line of all CPUs, which is the first one.
const maxLine = 512

// idle are the columns of /proc/stat in which a CPU does nothing: idle and iowait. guest is part of user (proc(5)).
const (
	idleColumn, waitColumn = 3, 4
	columns                = 8
)

func readStat(path string) (busy, total float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	text := make([]byte, maxLine)
	n, err := io.ReadFull(f, text)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, 0, fmt.Errorf("reading %s: %w", path, err)
	}
	line, _, _ := strings.Cut(string(text[:n]), "\n")
	fields := strings.Fields(line)
	if len(fields) <= waitColumn+1 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("%s does not begin with the line of all CPUs", path)
	}
	for i, field := range fields[1:min(len(fields), 1+columns)] {
		v, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("%s has the malformed count %q", path, field)
		}
		if total += float64(v); i != idleColumn && i != waitColumn {
			busy += float64(v)
		}
	}
	return busy, total, nil
}
