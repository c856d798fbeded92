package run

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/servers"
)

// mute is a driver whose endpoint never answers a probe.
type mute struct{}

func init() { backends.Register("mute", mute{}) }

func (mute) Describe() backends.Description { return backends.Description{} }

func (mute) Encode(dst []byte, _ *datasets.Sample, _ *backends.Config) ([]byte, error) {
	return append(dst, 'x'), nil
}

func (mute) Open(*backends.Config) (backends.Backend, error) { return nil, syscall.ENOTSUP }

func (mute) Probe(ctx context.Context, e backends.Endpoint, _ *backends.Config, _ *datasets.Sample,
	_ bool) (*backends.Probe, error) {
	<-ctx.Done()
	return nil, &backends.EndpointError{URL: e.URL, Fault: backends.FaultUnreachable, Text: "no answer", Err: ctx.Err()}
}

// A signal during the preflight is reported as a signal, not as an endpoint's fault, and the run leaves no files.
func TestInterruptedPreflight(t *testing.T) {
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	folder := filepath.Join(t.TempDir(), "run")
	p, err := newPlan(Settings{"model": "generic", "served-model": "m", "backend": "mute", "endpoint": "http://nowhere",
		"output-dir": folder})
	require.NoError(t, err)
	p.Dataset, err = datasets.New([]datasets.Sample{{InputIDs: []int32{1}}}, datasets.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(50*time.Millisecond, func() { cancel(Interrupt{Signal: syscall.SIGTERM}) })
	r, err := Run(ctx, FromPlan(p), nil)
	require.Nil(t, r)
	require.ErrorContains(t, err, "ended before its test began: interrupted by SIGTERM")
	require.Equal(t, ExitTerminate, Classify(err).Exit)
	require.NoDirExists(t, folder)
}

// Settings with which LoadGen would hang or crash are rejected after the preflight, and the run leaves no files.
func TestRefusedSettingsLeaveNothing(t *testing.T) {
	server := simulate(t)
	folder := filepath.Join(t.TempDir(), "run")
	requireRefused(t, folder, "is refused", "--model", "llama3.1-8b", "--endpoint", server.url, "--samples", "16",
		"--min-queries", "0")
}

// A name that would break LoadGen's log lines is rejected before the test, and the run leaves no files.
func TestDataSetNameThatBreaksLoadGensLog(t *testing.T) {
	program(t)
	rows := filepath.Join(t.TempDir(), "rows\".jsonl")
	require.NoError(t, os.WriteFile(rows, []byte("{\"tok_input\":[4,5,6]}\n"), 0o644))
	folder := filepath.Join(t.TempDir(), "run")
	requireRefused(t, folder, "contains a quote", "--model", "generic", "--served-model", "m", "--backend", "vllm",
		"--endpoint", serveFaults(t, (*call).good).url, "--dataset", rows, "--max-tokens", "4", "--min-queries", "4",
		"--no-preflight-query")
}

// requireRefused requires that a run with these flags is rejected as wrong usage, and leaves no folder.
func requireRefused(t *testing.T, folder, text string, flags ...string) {
	t.Helper()
	cmd := exec.Command(program(t), append([]string{"run", "--no-progress", "--min-duration", "0", "--output-dir", folder},
		flags...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.Error(t, cmd.Run())
	require.Equal(t, ExitUsage, cmd.ProcessState.ExitCode(), stderr.String())
	require.Contains(t, stderr.String(), text)
	require.NoDirExists(t, folder)
}

func TestADataSetWithoutRows(t *testing.T) {
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	folder := filepath.Join(t.TempDir(), "run")
	p, err := newPlan(Settings{"model": "generic", "served-model": "m", "backend": "mute", "endpoint": "http://nowhere",
		"output-dir": folder})
	require.NoError(t, err)
	p.Dataset = &datasets.Dataset{}
	_, err = Run(context.Background(), FromPlan(p), nil)
	require.ErrorContains(t, err, "no rows")
	require.Equal(t, ExitUsage, Classify(err).Exit)
	require.NoDirExists(t, folder)
}

// A run whose reserved space for the record was deleted still writes its record.
func TestMissingReserve(t *testing.T) {
	x := &output{folder: t.TempDir()}
	require.NoError(t, x.reserve())
	require.NoError(t, x.freeReserve())
	require.NoFileExists(t, x.path(record.ReserveName))
	require.NoError(t, x.freeReserve())
}

func TestServersThatShowLittle(t *testing.T) {
	require.ErrorContains(t, matches(&servers.State{}, nil), "does not tell how they were started")
}
