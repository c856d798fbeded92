package main

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
)

// pointsVariable is the number of random moments of a campaign at which each process is killed; seedVariable repeats
// them.
const pointsVariable, seedVariable = "CAMPAIGN_FAULT_POINTS", "CAMPAIGN_FAULT_SEED"

func points(t *testing.T) (int, *rand.Rand) {
	t.Helper()
	n, seed := 2, uint64(time.Now().UnixNano())
	if text := os.Getenv(pointsVariable); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("%s=%d %s=%d", pointsVariable, n, seedVariable, seed)
	return n, rand.New(rand.NewPCG(seed, 0))
}

// small starts a campaign of five steps, each under a second on a quiet machine.
func small(t *testing.T, folder string, more ...string) *process {
	t.Helper()
	return start(t, folder, append([]string{"submission", "run", "--model", "llama3.1-8b", "--scenario", "Offline",
		"--samples", "16", "--min-queries", "3000",
		"--concurrency", "256", "--resume", "--output-dir", folder, "--no-progress"}, more...)...)
}

const faultWait = 2 * time.Minute

// at waits until the campaign runs a step, or has ended.
func (p *process) at(step int) {
	p.t.Helper()
	p.until("the campaign to come to step "+strconv.Itoa(step), faultWait, func() bool {
		select {
		case <-p.ended:
			return true
		default:
		}
		s, err := campaign.ReadState(p.folder)
		return err == nil && len(s.Steps) > step && s.Steps[step].Attempts > 0
	})
}

// built resumes a campaign, which must then be done, and returns its tree without times.
func built(t *testing.T, folder string) map[string]string {
	t.Helper()
	p := small(t, folder)
	require.Equal(t, 0, p.end(faultWait), "stdout:\n%s\nstderr:\n%s", p.stdout.String(), p.stderr.String())
	out, err := exec.Command("mlperf-go", "submission", "build", folder, "--rehearsal", "--submitter", "Acme",
		"--quiet").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return treeOf(t, filepath.Join(folder, "submission"))
}

// timed are files of a tree that contain times, addresses or rates, so that only their existence can be compared.
var timed = []string{"mlperf_log_detail.txt", "mlperf_log_summary.txt", "mlperf_log_accuracy.json", "README.md"}

// place matches the simulator's address, which differs from process to process.
var place = regexp.MustCompile(`http://127[.]0[.]0[.]1:\d+`)

func treeOf(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text := []byte("there")
		if !slices.Contains(timed, d.Name()) {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		files[name] = place.ReplaceAllString(strings.ReplaceAll(string(text), filepath.Dir(root), "OUT"), "PLACE")
		return nil
	}))
	require.NotEmpty(t, files)
	return files
}

// victims returns the processes to kill: the campaign itself, its step's process, or the simulator.
var victims = map[string]func(p *process) []int{
	"campaign": func(p *process) []int { return []int{p.cmd.Process.Pid} },
	"step": func(p *process) []int {
		return p.childrenThat(func(line string) bool { return !strings.Contains(line, "\x00sim\x00") })
	},
	"simulator": func(p *process) []int {
		return p.childrenThat(func(line string) bool { return strings.Contains(line, "\x00sim\x00") })
	},
}

func (p *process) childrenThat(are func(line string) bool) []int {
	var list []int
	for _, pid := range childrenOf(p.cmd.Process.Pid) {
		if line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")); err == nil && are(string(line)) {
			list = append(list, pid)
		}
	}
	return list
}

// The death of any process at any moment costs only the running step: a resumed campaign has the same tree as an
// undisturbed one.
func TestDeathAtAnyMoment(t *testing.T) {
	t.Parallel()
	undisturbed := built(t, filepath.Join(t.TempDir(), "undisturbed"))
	for _, name := range []string{"campaign", "step", "simulator"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, random := points(t)
			for i := range n {
				folder := filepath.Join(t.TempDir(), "out"+strconv.Itoa(i))
				step, wait := random.IntN(5), time.Duration(random.IntN(400))*time.Millisecond
				t.Logf("kill the %s %v after the start of step %d", name, wait, step)
				p := small(t, folder)
				p.at(step)
				time.Sleep(wait)
				for _, pid := range victims[name](p) {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended just now
				}
				code := p.end(faultWait)
				valid := validRuns(t, folder)
				require.Equal(t, undisturbed, built(t, folder), "the campaign ended with %d; its stderr:\n%s", code,
					p.stderr.String())
				for path, was := range valid {
					now, err := os.ReadFile(path)
					require.NoError(t, err)
					require.Equal(t, was, string(now), "what was valid is not measured again")
				}
			}
		})
	}
}

// validRuns returns the VALID records in a campaign's folder by path, without those of audits, which also need their
// verification.
func validRuns(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(folder, "simulated", "*", "*", "*", record.FileName))
	require.NoError(t, err)
	for _, path := range paths {
		r, err := record.Read(filepath.Dir(path))
		if err != nil || r.Verdict != record.Valid || strings.HasPrefix(filepath.Base(filepath.Dir(path)), "TEST") {
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		found[path] = string(text)
	}
	return found
}

func TestTwoCampaignsInOneFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "out")
	first := small(t, folder)
	first.at(1)
	_ = syscall.Kill(first.cmd.Process.Pid, syscall.SIGSTOP) // keeps the lock
	second := small(t, folder, "--json")
	require.Equal(t, run.ExitUsage, second.end(faultWait))
	require.Contains(t, second.stdout.String(), `"campaign_running"`)
	require.NoError(t, syscall.Kill(first.cmd.Process.Pid, syscall.SIGCONT))
	require.Equal(t, 0, first.end(faultWait), "the first is not disturbed; its stderr:\n%s", first.stderr.String())
}

// relay keeps a server's address while the servers behind it change.
type relay struct {
	listener net.Listener
	mu       sync.Mutex
	to       string // address of the server; empty: no server
	open     map[net.Conn]bool
	work     sync.WaitGroup
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{listener: l, open: map[net.Conn]bool{}}
	r.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.work.Go(func() { r.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		r.connect("")
		r.work.Wait()
	})
	return r
}

// connect forwards new connections to another server and cuts open ones.
func (r *relay) connect(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = strings.TrimPrefix(to, "http://")
	for c := range r.open {
		_ = c.Close() // ends its copies
	}
}

func (r *relay) serve(in net.Conn) {
	defer in.Close()
	r.mu.Lock()
	out, err := net.Dial("tcp", r.to)
	if r.to == "" || err != nil {
		r.mu.Unlock()
		return
	}
	r.open[in], r.open[out] = true, true
	r.mu.Unlock()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			_, err := io.Copy(way[0], way[1])
			_ = errors.Join(err, way[0].Close(), way[1].Close()) // one end is gone, and so is the other
		})
	}
	both.Wait()
	r.mu.Lock()
	delete(r.open, in)
	delete(r.open, out)
	r.mu.Unlock()
}

// If an endpoint disappears in the middle of a test and returns, the campaign waits and repeats the step. If it does
// not return, the campaign ends and records why, and can be resumed.
func TestEndpointGoneForAWhile(t *testing.T) {
	t.Parallel()
	url, _ := startSim(deferring{t}, filepath.Join(t.TempDir(), "ready"))
	r := newRelay(t)
	r.connect(url)
	folder := filepath.Join(t.TempDir(), "out")
	endpoint := []string{"--endpoint", "http://" + r.listener.Addr().String(), "--backend", "sim", "--only",
		"preflight,performance,accuracy", "--wait-endpoint"}
	p := small(t, folder, append(endpoint, "2m")...)
	p.at(1)
	r.connect("")
	time.Sleep(2 * time.Second)
	r.connect(url)
	require.Equal(t, 0, p.end(faultWait), "stdout:\n%s\nstderr:\n%s", p.stdout.String(), p.stderr.String())

	r.connect("")
	p = small(t, folder, append(endpoint, "100ms", "--set", "accuracy.max-tokens=100")...)
	require.Equal(t, run.ExitEnvironment, p.end(faultWait))
	state, outcomes, err := campaign.Inspect(folder)
	require.NoError(t, err)
	require.Equal(t, campaign.Pending, state.Steps[0].Status)
	require.EqualValues(t, "endpoint", state.Steps[0].Code)
	require.Equal(t, campaign.Done, outcomes[1].Entry.Status, "what is valid stays so")

	r.connect(url)
	p = small(t, folder, append(endpoint, "1m", "--set", "accuracy.max-tokens=100")...)
	require.Equal(t, 0, p.end(faultWait), "stderr:\n%s", p.stderr.String())
}
