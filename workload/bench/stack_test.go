package bench

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/servers"
)

// longest is how long a test waits for a process, on a busy machine.
const longest = 2 * time.Minute

// stackServer is the variable whose value is the file that ends the test binary when it plays a server.
const stackServer = "BENCH_TEST_STACK_SERVER"

// The test binary is also the server that tests start.
func TestMain(m *testing.M) {
	if end := os.Getenv(stackServer); end != "" {
		serveUntil(end, os.Args[1], os.Args[2])
	}
	os.Exit(m.Run())
}

// serveUntil serves a model at an address until a file appears.
func serveUntil(end, address, model string) {
	go func() {
		for _, err := os.Stat(end); err != nil; _, err = os.Stat(end) {
			time.Sleep(5 * time.Millisecond)
		}
		os.Exit(9)
	}()
	http.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"object": "list", "data": [{"id": "` + model + `"}]}`))
	})
	_, _ = os.Stdout.WriteString("serving " + model + "\n")
	panic(http.ListenAndServe(address, nil))
}

// stackPlan plans one server, which ends when the file exists.
func stackPlan(t *testing.T, end string) *servers.Plan {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	require.NoError(t, l.Close())
	self, err := os.Executable()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "server.yaml")
	require.NoError(t, os.WriteFile(file, []byte("backend: sim\nmodel: some-llm\nstartup_timeout: 120\n"+
		"output_dir: '"+filepath.Join(t.TempDir(), "logs")+"'\nports: ["+port+"]\n"+
		"launch_command: ['"+self+"', '{host}:{port}', '{model}']\nenv_vars: {"+stackServer+": '"+end+"'}\n"), 0o600))
	c, err := servers.Load(file)
	require.NoError(t, err)
	p, err := servers.NewPlan(c, servers.Options{GPUsPerReplica: -1, Environ: append(os.Environ(),
		"MLPERF_GO_API_KEY=hush")})
	require.NoError(t, err)
	return p
}

func ends(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(longest):
		t.Fatal("the context of the runs does not end")
	}
}

func TestStackOfServers(t *testing.T) {
	end := filepath.Join(t.TempDir(), "end")
	plan := stackPlan(t, end)
	core, logged := observer.New(zap.InfoLevel)
	s, err := StartServers(t.Context(), plan, zap.New(core))
	require.NoError(t, err)
	require.NotZero(t, logged.Len(), "the log has the start of the servers")

	o := Options{Folder: t.TempDir(), Access: atomicfile.Private}
	s.Configure(&o)
	require.Equal(t, plan.URLs(), o.Endpoints)
	require.Equal(t, plan.Dir, o.ServerDir)
	require.Equal(t, plan.APIKey(), o.APIKey)
	other := Options{APIKey: "given"}
	s.Configure(&other)
	require.Equal(t, "given", other.APIKey)

	require.NoError(t, s.KeepLogs(&o))
	require.NoDirExists(t, filepath.Join(o.Folder, servers.CopiesFolder), "no run took place in the folder")
	require.NoError(t, os.WriteFile(filepath.Join(o.Folder, ProfileName), []byte("seed: 1\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(o.Folder, RecordName), []byte("{}"), 0o600))
	require.NoError(t, s.KeepLogs(&o))
	text, err := os.ReadFile(filepath.Join(o.Folder, servers.CopiesFolder, "replica-0.log"))
	require.NoError(t, err)
	require.Contains(t, string(text), "serving some-llm\n")

	broken := errors.New("broken")
	require.Equal(t, broken, s.Explain(broken), "all servers run")
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	ends(t, s.Context())
	err = s.Explain(broken)
	require.Equal(t, exit.CodeServerDied, exit.Classify(err).Code)
	require.Equal(t, exit.StatusEnvironment, exit.Classify(err).Exit)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "replica 0 ("+plan.URLs()[0]+") exited by itself; its log is ")
	require.NoError(t, s.Stop())
}

func TestStackThatDoesNotStart(t *testing.T) {
	end := filepath.Join(t.TempDir(), "end")
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	_, err := StartServers(t.Context(), stackPlan(t, end), zap.NewNop())
	require.Equal(t, exit.CodeServerStart, exit.Classify(err).Code)
	require.Equal(t, exit.StatusEnvironment, exit.Classify(err).Exit)

	program := filepath.Join(t.TempDir(), "sim")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nexit 3\n"), 0o700))
	_, err = StartSimulator(t.Context(), program, nil, zap.NewNop())
	require.Equal(t, exit.CodeSimulator, exit.Classify(err).Code)
}

// The context of the runs ends with the simulator, with its parent, and with Stop; only the first is a fault.
func TestStackOfASimulator(t *testing.T) {
	end := filepath.Join(t.TempDir(), "end")
	program := filepath.Join(t.TempDir(), "sim")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nfor last; do :; done\n"+
		"echo http://127.0.0.1:1 >\"$last\"\nuntil [ -e '"+end+"' ]; do sleep 0.01; done\n"), 0o700))
	start := func(ctx context.Context) *Stack {
		s, err := StartSimulator(ctx, program, []string{"sim"}, zap.NewNop())
		require.NoError(t, err)
		return s
	}
	broken := errors.New("broken")

	s := start(t.Context())
	o := Options{Folder: t.TempDir()}
	s.Configure(&o)
	require.Equal(t, []string{"http://127.0.0.1:1"}, o.Endpoints)
	require.Empty(t, o.ServerDir)
	require.NoError(t, s.KeepLogs(&o), "it has no log")
	require.NoError(t, s.Context().Err())
	require.NoError(t, s.Stop())
	require.Error(t, s.Context().Err())
	require.Equal(t, broken, s.Explain(broken), "it was stopped")

	ctx, cancel := context.WithCancel(t.Context())
	s = start(ctx)
	cancel()
	ends(t, s.Context())
	require.Equal(t, broken, s.Explain(broken), "its parent ended")
	require.NoError(t, s.Stop())

	s = start(t.Context())
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	ends(t, s.Context())
	require.ErrorContains(t, s.Explain(broken), "the simulator ended by itself\nbroken")
	require.NoError(t, s.Stop())
}
