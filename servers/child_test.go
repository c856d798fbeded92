package servers

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const (
	modeName      = "SERVER_TEST_MODE"
	superviseName = "SERVER_TEST_SUPERVISE"
)

// The test binary also serves as the server, so that tests run real processes. Its environment selects the behaviour.
func TestMain(m *testing.M) {
	if mode := os.Getenv(modeName); mode != "" {
		child(mode, os.Args[1], os.Args[2])
		os.Exit(0)
	}
	if file := os.Getenv(superviseName); file != "" {
		supervise(file)
	}
	goleak.VerifyTestMain(m)
}

// child runs a server whose behaviour is set by the words of mode, in order.
func child(mode, address, model string) {
	for _, word := range strings.Split(mode, ",") {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "die":
			for i := range 60 {
				fmt.Printf("line %d before the end\n", i)
			}
			os.Exit(7)
		case "hang":
			time.Sleep(time.Hour)
		case "ignore":
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		// The value states how the grandchild differs from the child: by nothing, by its session, or (stranger) also by its
		// environment.
		case "fork":
			cmd := exec.Command("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: value != ""}
			if value == "stranger" {
				// The tests find the process by the variable SICK.
				cmd.Env = []string{"SICK=" + os.Getenv("SICK"), "PATH=" + os.Getenv("PATH")}
			}
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			fmt.Println("grandchild", cmd.Process.Pid)
		case "say":
			fmt.Print("loading weights 1%\rloading weights 99%\r\n")
		case "slow":
			time.Sleep(500 * time.Millisecond)
		case "later": // serves once a file appears
			go func() {
				for _, err := os.Stat(os.Getenv("SICK") + ".end"); err != nil; _, err = os.Stat(os.Getenv("SICK") + ".end") {
					time.Sleep(10 * time.Millisecond)
				}
				fmt.Println("out of memory")
				os.Exit(9)
			}()
		case "env":
			for _, pair := range os.Environ() {
				fmt.Println("env", pair)
			}
		case "args":
			fmt.Printf("started as %q\n", os.Args)
		case "fail":
			os.Exit(7)
		case "model":
			model = value
		case "serve":
			serveChild(address, model, value)
		}
	}
}

// serveChild answers like a server. While the file sick exists, /health returns 503.
func serveChild(address, model, kind string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Println(err)
		os.Exit(8)
	}
	mux := http.NewServeMux()
	if kind != "nohealth" {
		mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
			if _, err := os.Stat(os.Getenv("SICK")); err == nil {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
	}
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, r *http.Request) {
		if kind == "key" && r.Header.Get("Authorization") != "Bearer k" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"object":"list","data":[{"id":%q}]}`, model)
	})
	actions := []string{"start", "stop"}
	if kind == "unprofiled" {
		actions = nil
	}
	for _, action := range actions {
		mux.HandleFunc("POST /"+action+"_profile", func(http.ResponseWriter, *http.Request) {
			fmt.Println(action, "in", os.Getenv("VLLM_TORCH_PROFILER_DIR"))
		})
	}
	panic(http.Serve(l, mux))
}

// freePorts returns ports that were free a moment ago.
func freePorts(t testing.TB, n int) []string {
	t.Helper()
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return ports
}

// childFile is a server's file whose servers are the test binary; each of more is a line that replaces the one of its
// key.
func childFile(t testing.TB, mode string, replicas int, more ...string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	lines := []string{
		"backend: sim", "model: some-llm", "stop_timeout: 0.5", "heartbeat_interval: 0.05", "heartbeat_timeout: 0.2",
		"startup_timeout: 60", "output_dir: '" + dir + "'",
		"ports: [" + strings.Join(freePorts(t, replicas), ", ") + "]",
		"launch_command: [" + self + ", '{host}:{port}', '{model}']",
		fmt.Sprintf("env_vars: {%s: '%s', SICK: '%s/sick'}", modeName, mode, dir),
	}
	for _, m := range more {
		key, _, _ := strings.Cut(m, ":")
		lines = append(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+":") }), m)
	}
	return strings.Join(lines, "\n")
}

func childPlan(t testing.TB, mode string, replicas int, more ...string) *Plan {
	t.Helper()
	return plan(t, childFile(t, mode, replicas, more...),
		Options{GPUsPerReplica: unset, Environ: append(os.Environ(), "MLPERF_GO_API_KEY=secret")})
}

// supervise starts the servers of a file and waits until it is killed.
func supervise(file string) {
	c, err := Load(file)
	if err == nil {
		var p *Plan
		if p, err = NewPlan(c, Options{GPUsPerReplica: unset, Environ: os.Environ()}); err == nil {
			_, err = Start(context.Background(), p, nil)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	select {}
}

// A signal that does not exist is an error. A group that has ended is not.
func TestSignalGroup(t *testing.T) {
	const none = syscall.Signal(200)
	err := signalGroup(syscall.Getpgrp(), none)
	require.ErrorIs(t, err, syscall.EINVAL)
	require.ErrorContains(t, err, "process group")
	require.NoError(t, signalGroup(1<<30, syscall.SIGTERM))
}
