package run

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tooBusy is the share of the machine that other processes may use while a test measures milliseconds. The client and
// the simulator leave little more than this of two cores.
const tooBusy = 0.15

// tick is the unit of /proc/stat and /proc/PID/stat on every Linux that Go runs on.
const tick = time.Second / 100

// machine measures the use of the processors.
type machine struct {
	all, used, ours time.Duration
	pid             int // a running process of this test
}

func watchMachine(t *testing.T, pid int) *machine {
	m := &machine{pid: pid}
	m.all, m.used, m.ours = m.read(t)
	return m
}

// others returns the share of processor time since the start that other processes used.
func (m *machine) others(t *testing.T) float64 {
	all, used, ours := m.read(t)
	return float64((used-m.used)-(ours-m.ours)) / float64(all-m.all)
}

func (m *machine) read(t *testing.T) (all, used, ours time.Duration) {
	t.Helper()
	stat, err := os.ReadFile("/proc/stat")
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(stat), "\n") // cpu user nice system idle iowait irq softirq steal
	for i, v := range ticks(t, strings.Fields(line)[1:9]) {
		all += v
		if i != 3 && i != 4 {
			used += v
		}
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		require.NoError(t, syscall.Getrusage(who, &u))
		ours += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	stat, err = os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.pid))
	require.NoError(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from the state, the third field
	for _, v := range ticks(t, fields[11:13]) {
		ours += v
	}
	return all, used, ours
}

func ticks(t *testing.T, words []string) []time.Duration {
	t.Helper()
	var list []time.Duration
	for _, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		require.NoError(t, err)
		list = append(list, time.Duration(n)*tick)
	}
	return list
}
