package hostinfo

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gpuList is a machine's list of GPUs.
type gpuList struct {
	gpus   []GPU
	driver string
	err    error
}

func (g gpuList) list() ([]GPU, string, error) { return g.gpus, g.driver, g.err }

func TestCollectThisMachine(t *testing.T) {
	f := Collect()
	require.NotEmpty(t, f.Kernel)
	require.Positive(t, f.CPUs)
	require.Positive(t, f.CPUsAllowed)
	require.Greater(t, f.MemoryBytes, int64(64<<20))
	if len(f.GPUs) == 0 {
		require.NotEmpty(t, f.GPUNote, "says why there are none")
	} else {
		require.NotEmpty(t, f.GPUDriver)
		require.NotEmpty(t, f.GPUs[0].Name)
		require.True(t, strings.HasPrefix(f.GPUs[0].UUID, "GPU-"), f.GPUs[0].UUID)
	}
	require.NotContains(t, f.GPUNote, "\n")
	text, err := json.Marshal(f)
	require.NoError(t, err)
	t.Log(string(text))
	if name, err := os.Hostname(); err == nil && len(name) > 6 {
		require.NotContains(t, string(text), name)
	}
}

// machine writes the files of another machine.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

func TestCollectOfAnotherMachine(t *testing.T) {
	root := machine(t, map[string]string{
		"etc/os-release":            "NAME=\"Example\"\nPRETTY_NAME=\"Example Linux 12\"\n",
		"proc/sys/kernel/osrelease": "6.1.0-test\n",
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: Example CPU: 3 GHz\nphysical id\t: " +
			"0\n\nprocessor\t: 1\nmodel name\t: X\nphysical id\t: 1\n",
		"proc/meminfo":                    "MemFree: 1 kB\nMemTotal:       2048 kB\n",
		"sys/devices/system/node/node0/x": "", "sys/devices/system/node/node1/x": "",
	})
	gpus := []GPU{{Name: "Example GPU", UUID: "GPU-1", MemoryBytes: 5}}
	require.Equal(t, Facts{
		OS: "Example Linux 12", Kernel: "6.1.0-test", Arch: runtime.GOARCH, CPUModel: "Example CPU: 3 GHz", CPUs: 2,
		CPUsAllowed: runtime.NumCPU(), Sockets: 2, NUMANodes: 2, MemoryBytes: 2 << 20, GPUs: gpus, GPUDriver: "1.2",
	}, collect(root, gpuList{gpus, "1.2", nil}))
}

func TestCollectWhereNothingCanBeFound(t *testing.T) {
	f := collect(t.TempDir(), gpuList{err: errors.New("no driver")})
	require.Equal(t, Facts{Arch: runtime.GOARCH, CPUsAllowed: runtime.NumCPU(), GPUs: []GPU{}, GPUNote: "no driver"}, f)
	odd := machine(t, map[string]string{"proc/meminfo": "MemTotal: -7 kB\n", "proc/cpuinfo": ":::\n"})
	require.Zero(t, collect(odd, gpuList{}).MemoryBytes)
}

func TestFreeBytes(t *testing.T) {
	dir := t.TempDir()
	here, known, err := FreeBytes(dir)
	require.NoError(t, err)
	require.Positive(t, here)
	require.True(t, known)
	none, known, err := FreeBytes("/proc/self")
	require.NoError(t, err)
	require.Zero(t, none)
	require.False(t, known, "it has no blocks")
	_, _, err = FreeBytes(filepath.Join(dir, "not", "made", "yet"))
	require.NoError(t, err)
	_, _, err = FreeBytes(filepath.Join(dir, "nul\x00"))
	require.ErrorContains(t, err, "finding the free space of")
}

func TestRaiseNoFile(t *testing.T) {
	if os.Getenv("HOSTINFO_LIMIT_TEST") == "" {
		// Limits belong to the process: a child inherits them.
		exe, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(exe, "-test.run=^TestRaiseNoFile$")
		cmd.Env = append(os.Environ(), "HOSTINFO_LIMIT_TEST=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	var l syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l))
	hard := min(l.Max, 4096)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 256, Max: hard}))
	n, err := RaiseNoFile(hard)
	require.NoError(t, err)
	require.Equal(t, NoFile{Before: 256, Now: hard, Hard: hard}, n)
	n, err = RaiseNoFile(hard + 1)
	require.ErrorContains(t, err, "raise it (ulimit -Hn")
	require.Equal(t, hard, n.Now)
	out, err := exec.Command("sh", "-c", "ulimit -Sn").Output()
	require.NoError(t, err)
	require.Equal(t, strconv.FormatUint(hard, 10), strings.TrimSpace(string(out)), "children get the raised limit")
}

func TestClocks(t *testing.T) {
	start, err := ReadClocks()
	require.NoError(t, err)
	time.Sleep(20 * time.Millisecond)
	end, err := ReadClocks()
	require.NoError(t, err)
	require.GreaterOrEqual(t, end.MonotonicNS-start.MonotonicNS, int64(20*time.Millisecond))
	require.False(t, Stepped(end.Drift(start)), end.Drift(start))

	end.WallNS += int64(2 * time.Millisecond)
	require.True(t, Stepped(end.Drift(start)))
	end.WallNS -= int64(4 * time.Millisecond)
	require.True(t, Stepped(end.Drift(start)))
	require.Negative(t, end.Drift(start))
}

func TestSampler(t *testing.T) {
	s, err := StartSampler(time.Millisecond)
	require.NoError(t, err)
	// Threads: ten goroutines blocked on their own threads for some samples.
	release := make(chan struct{})
	ready := make(chan struct{})
	for range 10 {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready <- struct{}{}
			<-release
		}()
		<-ready
	}
	require.Eventually(t, func() bool { // the sampler itself must see it, because Read would look too
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.threads > 10
	}, time.Minute, time.Millisecond)
	close(release)
	// CPU time of this process and of a child, and a collection.
	for used := 0.; used < .02; {
		p, err := s.Read()
		require.NoError(t, err)
		used = p.CPUUserS + p.CPUSystemS
	}
	require.NoError(t, exec.Command("sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done").Run())
	for range 20 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p, err := s.Stop()
	require.NoError(t, err)
	require.GreaterOrEqual(t, p.CPUUserS+p.CPUSystemS, .02)
	require.Positive(t, p.ChildrenCPUS)
	require.InDelta(t, p.CPUUserS+p.CPUSystemS+p.ChildrenCPUS, p.CPUS(), 1e-9)
	require.Greater(t, p.RSSMaxBytes, int64(1<<20))
	require.Greater(t, p.RSSAnonMaxBytes, int64(1<<20))
	require.Less(t, p.RSSAnonMaxBytes, p.RSSMaxBytes, "the program itself is a file")
	require.Greater(t, p.ThreadsMax, 10)
	require.GreaterOrEqual(t, p.GCPauses, uint64(20))
	require.Positive(t, p.GCPauseMaxS)
	require.Less(t, p.GCPauseMaxS, 10.)
	require.Positive(t, p.SchedLatencyMaxS, "goroutines were woken")
	require.LessOrEqual(t, p.SchedLatencyP99S, p.SchedLatencyMaxS)
	require.Positive(t, p.OtherPauses, "reading the memory's figures stops all goroutines too")
	require.Positive(t, p.OtherPauseMaxS)
	again, err := s.Stop()
	require.NoError(t, err)
	require.GreaterOrEqual(t, again.CPUS(), p.CPUS())
}

// The processor time that counts ends with the last mark; everything else ends with the last reading.
func TestMarkEndsTheWork(t *testing.T) {
	s, err := StartSampler(time.Hour)
	require.NoError(t, err)
	work := func(long float64) {
		before, err := readUsage()
		require.NoError(t, err)
		for {
			now, err := readUsage()
			require.NoError(t, err)
			if since(now.self.Utime, before.self.Utime)+since(now.self.Stime, before.self.Stime) > long {
				return
			}
		}
	}
	work(.01)
	s.Mark()
	first, err := s.Read()
	require.NoError(t, err)
	require.GreaterOrEqual(t, first.CPUS(), .01)
	work(.05)
	runtime.GC()
	second, err := s.Read()
	require.NoError(t, err)
	require.Equal(t, [3]float64{first.CPUUserS, first.CPUSystemS, first.ChildrenCPUS},
		[3]float64{second.CPUUserS, second.CPUSystemS, second.ChildrenCPUS})
	require.Greater(t, second.GCPauses, first.GCPauses)
	s.Mark()
	third, err := s.Stop()
	require.NoError(t, err)
	require.GreaterOrEqual(t, third.CPUS(), first.CPUS()+.05)
}

// A large parent's memory is not the child's, although the kernel's own count includes it.
func TestTheParentsMemoryIsNotCounted(t *testing.T) {
	const child = "HOSTINFO_TEST_CHILD"
	if os.Getenv(child) != "" {
		s, err := StartSampler(time.Hour)
		require.NoError(t, err)
		p, err := s.Stop()
		require.NoError(t, err)
		fmt.Printf("PEAK %d\n", p.RSSMaxBytes)
		return
	}
	const large = 256 << 20
	ballast := make([]byte, large)
	for i := 0; i < len(ballast); i += os.Getpagesize() {
		ballast[i] = 1
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestTheParentsMemoryIsNotCounted$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	runtime.KeepAlive(ballast)
	_, peak, found := strings.Cut(string(out), "PEAK ")
	require.True(t, found, "%s", out)
	bytes, err := strconv.ParseInt(strings.Fields(peak)[0], 10, 64)
	require.NoError(t, err)
	require.Positive(t, bytes)
	require.Less(t, bytes, int64(large))
}

// All figures of a process are those since the start, in seconds.
func TestFiguresSinceTheStart(t *testing.T) {
	require.InDelta(t, 7, Process{CPUUserS: 1, CPUSystemS: 2, ChildrenCPUS: 4}.CPUS(), 0)
	require.InDelta(t, 2.5, since(syscall.Timeval{Sec: 5, Usec: 250000}, syscall.Timeval{Sec: 2, Usec: 750000}), 1e-9)

	s, err := StartSampler(time.Hour)
	require.NoError(t, err)
	before := s.start
	s.start.self.Utime.Sec -= 1000
	s.start.self.Stime.Sec -= 2000
	s.start.children.Utime.Sec -= 3000
	s.start.children.Stime.Sec -= 4000
	s.start.self.Nvcsw -= 500000
	s.start.self.Nivcsw -= 600000
	p, err := s.Stop()
	require.NoError(t, err)
	now, err := readUsage()
	require.NoError(t, err)
	require.InDelta(t, 1000, p.CPUUserS, 1+since(now.self.Utime, before.self.Utime))
	require.InDelta(t, 2000, p.CPUSystemS, 1+since(now.self.Stime, before.self.Stime))
	require.InDelta(t, 7000, p.ChildrenCPUS, 1)
	require.InDelta(t, 500000, p.VoluntarySwitch, float64(now.self.Nvcsw-before.self.Nvcsw))
	require.InDelta(t, 600000, p.PreemptiveSwitch, float64(now.self.Nivcsw-before.self.Nivcsw))
	require.InDelta(t, now.self.Maxrss<<10, p.RSSMaxBytes, float64(now.self.Maxrss<<10)/2)
}

func TestGrowthOfHistograms(t *testing.T) {
	bounds := []float64{0, 1, 2, math.Inf(1)}
	start := &metrics.Float64Histogram{Counts: []uint64{1, 1, 0}, Buckets: bounds}
	g := grown(&metrics.Float64Histogram{Counts: []uint64{4, 2, 0}, Buckets: bounds}, start)
	require.EqualValues(t, 4, g.count())
	require.InDelta(t, 1, g.quantile(.5), 0)
	require.InDelta(t, 2, g.quantile(1), 0)
	require.InDelta(t, 2, grown(&metrics.Float64Histogram{Counts: []uint64{1, 1, 5}, Buckets: bounds}, start).quantile(1),
		0, "the lower end of the last bucket")
	many := grown(&metrics.Float64Histogram{Counts: []uint64{1, 100, 1}, Buckets: bounds}, start)
	require.InDelta(t, 2, many.quantile(.99), 0)
	require.InDelta(t, 2, many.quantile(1), 0)
	most := grown(&metrics.Float64Histogram{Counts: []uint64{100, 2, 0}, Buckets: bounds}, start)
	require.InDelta(t, 1, most.quantile(.99), 0, "99 of 100 are in the first bucket")
	require.Zero(t, grown(nil, start).count())
	require.Zero(t, grown(start, nil).count())
	require.Zero(t, grown(&metrics.Float64Histogram{Counts: []uint64{1}}, start).count(), "of another version of Go")
	require.Zero(t, grown(start, start).quantile(1))
}

func FuzzValue(f *testing.F) {
	f.Add([]byte("MemTotal:  12 kB\nprocessor : 0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if kibibytes(value(data, "MemTotal", ":")) < 0 {
			t.Fatal("negative memory")
		}
		countCPUs(data)
	})
}
