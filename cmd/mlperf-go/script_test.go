package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mlperf-go/mlperf-go/internal/sandbox"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// The test binary is also the program: scripts run it as real processes, and these start it again as the simulator.
func TestMain(m *testing.M) {
	sandbox.Enter(os.Args, os.Environ())
	testscript.Main(m, map[string]func(){"mlperf-go": main, "tls-front": tlsFront})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "NO_PROXY=*", "MLFLOW="+os.Getenv(mlflowFolder))
			return validateRecords(e)
		},
		Condition: condition,
		Cmds:      scriptCommands(),
	})
}

// changed are the texts of files that a script contains, or has changed on purpose.
var changed sync.Map

func isChanged(text []byte) bool {
	_, is := changed.Load(string(text))
	return is
}

// noteChange reads a file that a script contains or has changed, because it may be a record.
func noteChange(path string) error {
	text, err := os.ReadFile(path)
	changed.Store(string(text), true)
	return err
}

// validateRecords checks every run.json that a script's commands leave against the schema, except for those that the
// script contains or changes.
func validateRecords(e *testscript.Env) error {
	e.Defer(func() {
		if err := schematest.Check(e.WorkDir, isChanged); err != nil {
			e.T().Fatal(err)
		}
	})
	return filepath.WalkDir(e.WorkDir, func(path string, f fs.DirEntry, err error) error {
		if err != nil || !f.Type().IsRegular() {
			return err
		}
		return noteChange(path)
	})
}

func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"code": cmdCode, "sim": cmdSim, "serve": cmdServe, "record": cmdRecord, "json": cmdJSON, "errorjson": cmdErrorJSON,
		"requests": cmdRequests, "failures": cmdFailures, "answers": cmdAnswers, "head": cmdHead, "edit": cmdEdit,
		"within": cmdWithin, "same": cmdSame, "plant": cmdPlant, "untouched": cmdUntouched, "counted": cmdCounted,
		"logged": cmdLogged, "store": cmdStore, "stored": cmdStored,
	}
}

// condition supports [loadgen]: this build has the library, so tests can run; [sandbox]: programs can be judged;
// [namespaces]: a small disk can be mounted; and [networks]: a network can be made. mlflowFolder is the variable that
// contains the folder with the commands mlflow and python (scripts/test-mlflow.sh).
const mlflowFolder = "MLPERF_GO_MLFLOW"

func condition(name string) (bool, error) {
	switch name {
	case "loadgen":
		return loadgen.Built, nil
	case "sandbox":
		return canSandbox(), nil
	case "mlflow":
		return os.Getenv(mlflowFolder) != "", nil
	case "namespaces":
		return exec.Command("unshare", "-Urm", "sh", "-c", "mount -t tmpfs -o size=1m none /tmp").Run() == nil, nil
	case "networks":
		return exec.Command("unshare", "-Urn", "ip", "link", "set", "lo", "up").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// canSandbox reports whether programs of a synthetic set can be run.
var canSandbox = sync.OnceValue(func() bool {
	_, err := exec.LookPath("python3")
	return err == nil && sandbox.Available(context.Background()) == nil
})

// cmdCode runs a command and requires an exit code: code N mlperf-go ARGS...
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s did not run: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// cmdWithin runs a command and requires that it ends in time: within DURATION N command args...
func cmdWithin(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	started := time.Now()
	cmdCode(ts, neg, args[1:])
	if took := time.Since(started); took > limit {
		ts.Fatalf("took %v, at most %v was wanted", took, limit)
	}
}

// cmdSim starts the simulator and stores its URL in a variable: sim NAME flags...
func cmdSim(ts *testscript.TestScript, _ bool, args []string) {
	url, cmd := startSim(ts, filepath.Join(ts.Getenv("WORK"), ".ready-"+args[0]), args[1:]...)
	ts.Setenv(args[0], url)
	ts.Setenv(args[0]+"_PID", strconv.Itoa(cmd.Process.Pid))
}

// failer is the common interface of a script and a test.
type failer interface {
	Fatalf(format string, args ...any)
	Defer(func())
}

func startSim(t failer, ready string, flags ...string) (url string, cmd *exec.Cmd) {
	cmd = exec.Command("mlperf-go", append([]string{"sim", "--ready-file", ready}, flags...)...)
	var log strings.Builder
	cmd.Stderr, cmd.Dir = &log, filepath.Dir(ready)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting the simulator: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a fault may have ended it on purpose
		close(ended)
	}()
	t.Defer(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		text, err := os.ReadFile(ready)
		if err == nil && strings.HasSuffix(string(text), "\n") {
			return strings.TrimSpace(string(text)), cmd
		}
		select {
		case <-ended:
			t.Fatalf("the simulator ended: %s", log.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatalf("the simulator did not serve: %s", log.String())
	return "", nil
}

// cmdHead keeps the first bytes of a file: head FILE N
func cmdHead(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.Truncate(path, int64(n)))
	ts.Check(noteChange(path))
}

// cmdEdit replaces the first occurrence of a text in a file: edit FILE OLD NEW
func cmdEdit(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o644))
	ts.Check(noteChange(ts.MkAbs(args[0])))
}
