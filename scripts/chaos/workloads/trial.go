package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/scripts/chaos/authority"
)

var quiet = log.New(io.Discard, "", 0)

// scenario is one test, drawn from its seed.
type scenario struct {
	Seed                    uint64
	Arrival                 string
	Rate, Concurrency       int
	Requests, Input, Output int
	Endpoints, Shards       int
	Retries                 int
	Faults                  []string
	Share                   float64 // of requests with a fault
	Event                   string
	EventAt                 int // number of the test's request that triggers it

	Shape, API string
	Population int   // different conversations
	Turns      []int // of each recorded session
	TLS, HTTP2 bool
}

// events are those of a whole test; the empty one is drawn more often.
var events = []string{"", "", "", "", "", "", "SIGINT", "SIGTERM", "SIGKILL", "server dies"}

func draw(seed uint64) scenario {
	r := rand.New(rand.NewPCG(seed, 3))
	s := scenario{Seed: seed, Requests: 40 + r.IntN(120), Input: 4 + r.IntN(60), Output: 2 + r.IntN(30),
		Endpoints: 1 + r.IntN(3), Shards: 1 + r.IntN(2), Retries: max(0, r.IntN(4)-1),
		Arrival: []string{"constant", "poisson", "gamma", "closed"}[r.IntN(4)]}
	if s.Arrival == "closed" {
		s.Concurrency = 1 + r.IntN(16)
	} else {
		s.Rate = 50 + r.IntN(150)
	}
	for range r.IntN(3) {
		s.Faults = append(s.Faults, faults[r.IntN(len(faults))].name)
	}
	if len(s.Faults) > 0 {
		s.Share = []float64{0.02, 0.05, 0.3}[r.IntN(3)]
	}
	if s.Event = events[r.IntN(len(events))]; s.Event != "" {
		s.EventAt = 2 + r.IntN(s.Requests/2)
	}
	s.drawShape(r)
	return s
}

// trial is one test in progress.
type trial struct {
	scenario
	folder  string
	log     truth
	servers []*server
	secure  *tls.Config // nil: plain HTTP
	cmd     *exec.Cmd
	killed  time.Time // when SIGKILL was sent

	mu      sync.Mutex
	started bool
	drawn   uint64

	output bytes.Buffer
	exit   int
	took   time.Duration
	hung   bool
}

// Times of a test: a good answer takes far less than a request may, even on a busy machine.
const (
	requestTimeout = 4 * time.Second
	patience       = 2 * time.Minute
)

func (t *trial) results() string { return filepath.Join(t.folder, "run") }

// begun reports whether the timed phase has begun: the event log exists.
func (t *trial) begun() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.started {
		_, err := os.Stat(filepath.Join(t.results(), "events.bin"))
		t.started = err == nil
	}
	return t.started
}

// strike draws the fault of the next request; nil: none.
func (t *trial) strike() *fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drawn++
	h := mix(t.Seed, 4, t.drawn)
	if len(t.Faults) == 0 || float64(h>>11)/(1<<53) >= t.Share {
		return nil
	}
	name := t.Faults[mix(h)%uint64(len(t.Faults))]
	for i := range faults {
		if faults[i].name == name {
			return &faults[i]
		}
	}
	return nil
}

func (t *trial) profile() (string, error) {
	load := "arrival: " + t.Arrival
	if t.Shape != sessions {
		load += fmt.Sprintf(", requests: %d", t.Requests)
	}
	if t.Rate > 0 {
		load += fmt.Sprintf(", rate: %d", t.Rate)
	} else {
		load += fmt.Sprintf(", concurrency: %d", t.Concurrency)
	}
	if t.Arrival == "gamma" {
		load += ", burstiness: 0.5"
	}
	data, err := t.data()
	return fmt.Sprintf("schema: mlperf-go/profile/1\nname: chaos\nseed: %d\napi: {kind: %s, stream: true, "+
		"session_header: %s}\ndata: %s\nload: {stages: [{%s}]}\nslo: {ttft: 60s}\n", t.Seed%1000, t.API, sessionHeader,
		data, load), err
}

// run makes the test in its own folder.
func (t *trial) run(program string) error {
	if err := errors.Join(os.RemoveAll(t.folder), os.MkdirAll(t.folder, 0o755)); err != nil {
		return err
	}
	file := filepath.Join(t.folder, "profile.yaml")
	text, err := t.profile()
	if err := errors.Join(err, os.WriteFile(file, []byte(text), 0o600)); err != nil {
		return err
	}
	args := []string{"--no-progress", "bench", "run", "-w", file, "--backend", "openai", "--output", t.results(),
		"--request-timeout", requestTimeout.String(), "--retries", strconv.Itoa(t.Retries), "--shards",
		strconv.Itoa(t.Shards)}
	if t.TLS {
		ca := filepath.Join(t.folder, "ca.pem")
		if t.secure, err = authority.New(ca); err != nil {
			return err
		}
		args = append(args, "--ca-file", ca)
	}
	if t.HTTP2 {
		args = append(args, "--http2")
	}
	for i := range t.Endpoints {
		s, err := t.serve(i)
		if err != nil {
			return err
		}
		defer s.http.Close()
		t.servers = append(t.servers, s)
		args = append(args, "--endpoint-url", s.url)
	}
	t.cmd = exec.Command(program, args...)
	t.cmd.Stdout, t.cmd.Stderr = &t.output, &t.output
	t.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.folder, "TMPDIR=" + os.TempDir()}
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the child's parent-death signal comes with the end of the thread that started it
	defer runtime.UnlockOSThread()
	t.log.mu.Lock()
	t.log.event, t.log.eventAt = t.happen, t.EventAt
	begun := time.Now()
	err = t.cmd.Start()
	t.log.mu.Unlock()
	if err != nil {
		return err
	}
	return t.wait(begun)
}

func (t *trial) wait(begun time.Time) error {
	watch := time.AfterFunc(patience, func() {
		t.mu.Lock()
		t.hung = true
		t.mu.Unlock()
		_ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL)
	})
	err := t.cmd.Wait()
	watch.Stop()
	t.took = time.Since(begun)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	t.exit = t.cmd.ProcessState.ExitCode()
	if status, ok := t.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		t.exit = -int(status.Signal())
	}
	return nil
}

// happen performs the event of the whole test.
func (t *trial) happen() {
	signals := map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL}
	if t.Event == "server dies" {
		go t.servers[0].http.Close() // this call is one of its own requests
		return
	}
	t.mu.Lock()
	t.killed = time.Now()
	t.mu.Unlock()
	_ = t.cmd.Process.Signal(signals[t.Event]) // it may have ended
}
