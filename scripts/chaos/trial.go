package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// trial is one test: servers, the program, its outcome.
type trial struct {
	sc      *scenario
	folder  string // of the trial; the run's is below it
	servers []*server
	truth   *truth
	cmd     *exec.Cmd
	later   sync.WaitGroup // of actions
	lost    bool           // an action took away something of the run's folder

	stdout, stderr bytes.Buffer
	exit           int // of the program; negative: the signal that ended it
	took           time.Duration
	hung           bool
	leftover       bool // processes of its group outlived it
}

const runFolder = "run"

func (t *trial) run() string { return filepath.Join(t.folder, runFolder) }

// results returns the folder of the run's files at its end: another one beside its folder if an action removed that.
func (t *trial) results() string {
	if saved, err := filepath.Glob(t.run() + ".rescued-*"); err == nil && len(saved) == 1 && t.lost {
		return saved[0]
	}
	return t.run()
}

// options are the same for every trial.
type options struct {
	program  string
	folder   string
	patience time.Duration
	tls      *tls.Config
	ca       string
}

// try runs one trial in its own folder.
func try(sc *scenario, o *options) (*trial, error) {
	t := &trial{sc: sc, folder: filepath.Join(o.folder, fmt.Sprint(sc.Seed))}
	t.truth = &truth{attempts: map[int]int{}, events: map[string]bool{}, actionAt: sc.ActionAt}
	if err := os.RemoveAll(t.folder); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(t.folder, 0o755); err != nil {
		return nil, err
	}
	if err := sc.writeSet(filepath.Join(t.folder, "rows.jsonl")); err != nil {
		return nil, err
	}
	if err := t.prepare(); err != nil {
		return nil, err
	}
	sockets, err := os.MkdirTemp("", "chaos") // the names of sockets are short
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(sockets)
	if err := t.listen(sockets, o); err != nil {
		return nil, err
	}
	defer t.close()
	return t, t.start(o)
}

// auditFile is the name of the audit configuration in a trial's folder.
const auditFile = "audit-of-a-trial.config"

// auditText makes LoadGen log the answers of some samples of a performance test, as TEST06 does of all.
const auditText = "*.*.accuracy_log_rng_seed = 720381539243781796\n*.*.accuracy_log_sampling_target = 8\n"

// earlierLog is a log that this program's LoadGen does not write.
const earlierLog = "mlperf/mlperf_log_other.txt"

// earlier are the files of an earlier run whose record contains VALID but was cut off.
var earlier = map[string]string{
	"run.json":                        `{"schema": "mlperf-go/run/1", "verdict": "VALID", "samples": {"issued": 9`,
	"requests.jsonl.zst":              "of another test",
	"mlperf/mlperf_log_detail.txt":    ":::MLLOG {}\n",
	"mlperf/mlperf_log_accuracy.json": "[\n]\n",
	earlierLog:                        "x",
}

// prepare writes the files that the program finds: an earlier run, an audit configuration.
func (t *trial) prepare() error {
	files := map[string]string{}
	if t.sc.Earlier != "" {
		for name, text := range earlier {
			files[filepath.Join(runFolder, name)] = text
		}
	}
	if t.sc.Audit {
		files[auditFile] = auditText
	}
	for name, text := range files {
		path := filepath.Join(t.folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// listen starts the servers.
func (t *trial) listen(sockets string, o *options) error {
	preflight, armed := filepath.Join(t.run(), "preflight.json"), false
	var mu sync.Mutex
	hasBegun := func() bool {
		mu.Lock()
		defer mu.Unlock()
		armed = armed || exists(preflight)
		return armed
	}
	for i := range t.sc.Endpoints {
		s := &server{sc: t.sc, truth: t.truth, network: "tcp", address: "127.0.0.1:0", armed: hasBegun,
			conns: map[net.Conn]bool{}, model: servedModel, index: i}
		if t.sc.Client == "unix" {
			s.network, s.address = "unix", filepath.Join(sockets, fmt.Sprint(i))
		}
		if t.sc.tls() {
			s.secure = o.tls
		}
		if err := s.up(); err != nil {
			return err
		}
		t.servers = append(t.servers, s)
	}
	return nil
}

// close ends the servers and waits for them.
func (t *trial) close() {
	for _, s := range t.servers {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.down()
		s.users.Wait()
	}
	t.later.Wait()
}

// urls returns the endpoints and the proxy in front of them. The proxy is the first server: it answers for every host.
func (t *trial) urls() (urls []string, proxy string) {
	for i, s := range t.servers {
		switch t.sc.Client {
		case "unix":
			urls = append(urls, "unix://"+s.address)
		case "proxy":
			urls = append(urls, fmt.Sprintf("http://server-%d.example:8000", i))
		case "https+proxy":
			urls = append(urls, fmt.Sprintf("https://server-%d.example:8443", i))
		default:
			scheme := "http://"
			if t.sc.tls() {
				scheme = "https://"
			}
			urls = append(urls, scheme+s.address)
		}
	}
	return urls, "http://" + t.servers[0].address
}

// start runs the program to its end.
func (t *trial) start(o *options) error {
	urls, proxy := t.urls()
	t.cmd = exec.Command(o.program, t.sc.args(t.folder, urls, proxy, o.ca)...)
	t.cmd.Dir = t.folder
	t.cmd.Stdout, t.cmd.Stderr = &t.stdout, &t.stderr
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	t.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.folder, "TMPDIR=" + os.TempDir()}
	runtime.LockOSThread() // the child's parent-death signal comes with the end of the thread that started it
	defer runtime.UnlockOSThread()
	begun := time.Now()
	if err := t.launch(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- t.cmd.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-time.After(o.patience):
		t.hung = true
		_ = t.cmd.Process.Signal(syscall.SIGABRT) // a dump of its goroutines
		select {
		case err = <-ended:
		case <-time.After(5 * time.Second):
			_ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL)
			err = <-ended
		}
	}
	t.took = time.Since(begun)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	t.exit = t.cmd.ProcessState.ExitCode()
	if status, ok := t.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		t.exit = -int(status.Signal())
	}
	t.leftover = t.outlived()
	return nil
}

// launch starts the program. Its first request waits until it is known here.
func (t *trial) launch() error {
	t.truth.mu.Lock()
	defer t.truth.mu.Unlock()
	for i := range actions {
		if a := &actions[i]; a.name == t.sc.Action {
			t.truth.action = func() { a.do(t) }
		}
	}
	return t.cmd.Start()
}

// outlived reports whether a process of the program's group is left a second after its end, and ends it.
func (t *trial) outlived() bool {
	for range 50 {
		if syscall.Kill(-t.cmd.Process.Pid, 0) != nil {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	_ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL)
	return true
}

// keep writes the evidence of a violation to the trial's folder.
func (t *trial) keep(violations []string) error {
	text := t.sc.String() + "\n\n" + strings.Join(t.cmd.Args, " ") + "\n\n" + strings.Join(violations, "\n") + "\n"
	for name, content := range map[string][]byte{"why.txt": []byte(text), "stdout.txt": t.stdout.Bytes(),
		"stderr.txt": t.stderr.Bytes()} {
		if err := os.WriteFile(filepath.Join(t.folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return t.truth.write(filepath.Join(t.folder, "truth.jsonl"))
}
