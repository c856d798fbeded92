package needs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// Each code of a refusal has its row, and the server's row has every other.
func TestRowsOfRefusals(t *testing.T) {
	require.Empty(t, rowOf(nil))
	for code, want := range map[exit.Code]string{
		exit.CodeContextLength: "context", exit.CodeDisk: "disk", exit.CodeDiskFull: "disk",
		exit.CodeOpenFiles: "open files", exit.CodeLocalPorts: "open files", "another": "server",
	} {
		require.Equal(t, want, rowOf(exit.Environment(code, "", "text")), code)
	}
	for fault, want := range map[backends.Fault]string{
		backends.FaultWrongModel: "model", backends.FaultNoTokenIDs: "token ids", backends.FaultNoTokenCount: "token ids",
		backends.FaultUnreachable: "server", backends.FaultGenerate: "server",
	} {
		s := survey(t, nil)
		s.Refusal = &backends.EndpointError{URL: "http://a:1", Fault: fault, Text: "told"}
		require.Equal(t, want, rowOf(s.Refusal), fault)
		c := row(t, s, "server")
		switch want {
		case "server":
			require.Equal(t, Missing, c.State)
		default:
			require.Equal(t, Check{Name: "server", State: OK, Found: "answers at http://a:1"}, c, fault)
		}
		for _, name := range []string{"model", "context", "token ids"} {
			if name != want {
				require.Equal(t, Check{Name: name, State: Unknown, Found: "not checked: the preflight ended first"},
					row(t, s, name))
			}
		}
	}
	s := survey(t, nil)
	s.Refusal = exit.Environment(exit.CodeDiskFull, "", "told")
	require.Equal(t, "not checked: the preflight ended first", row(t, s, "server").Found)
	for _, name := range []string{"server", "model", "context", "token ids"} {
		require.Equal(t, Check{Name: name, State: NotNeeded, Found: "the simulator will be started"},
			row(t, survey(t, plan.Settings{"endpoint": ""}), name))
	}
}

// Which of the two decides the length of a test, at the edge and beside it.
func TestDecides(t *testing.T) {
	const longer, shorter = " for 1000 samples at 100/s (min-duration 10s)",
		" by min-duration (999 samples at 100/s may take less)"
	for _, c := range []struct {
		l     Load
		want  string
		takes time.Duration
		sure  bool
	}{
		{Load{1000, 100, 10 * time.Second, false}, longer, 10 * time.Second, true},
		{Load{999, 100, 10 * time.Second, false}, shorter, 10 * time.Second, true},
		{Load{999, 100, 10 * time.Second, true}, shorter, 9990 * time.Millisecond, true},
		{Load{2000, 100, 10 * time.Second, false}, " for 2000 samples at 100/s (min-duration 10s)", 20 * time.Second, true},
		{Load{5, 0.5, 10 * time.Second, false}, " for 5 samples at 0.5/s (min-duration 10s)", 10 * time.Second, true},
		{Load{1000, 0, 10 * time.Second, false}, "", 10 * time.Second, false},
		{Load{1000, 0, 10 * time.Second, true}, "", 0, false},
		{Load{1000, 100, 0, false}, "", 10 * time.Second, true},
	} {
		require.Equal(t, c.want, c.l.decides(), "%+v", c.l)
		takes, sure := c.l.Takes()
		require.Equal(t, []any{c.takes, c.sure}, []any{takes, sure}, "%+v", c.l)
	}
	require.Equal(t, 1000, Load{999, 100, 10 * time.Second, false}.queries())
	require.Equal(t, 1001, Load{1001, 100, 10 * time.Second, false}.queries())
	half := 500 * time.Millisecond
	for want, c := range map[string]struct {
		d    time.Duration
		sure bool
	}{
		"less than 1s": {half - 1, true}, "an unknown time": {half - 1, false}, "about 1s": {half, true},
		"at least 1s": {half, false},
	} {
		require.Equal(t, want, About(c.d, c.sure))
	}
	require.Equal(t, "less than 1s to 3s: one answer alone takes up to 2.1 s; how many the server can compute at once "+
		"decides", Between(time.Second-1, 3*time.Second, 2100*time.Millisecond))
	require.Regexp(t, "^1s to 3s: one answer alone takes up to 1 s;", Between(time.Second, 3*time.Second, time.Second))
}

// An answer that came at once shows its whole time, with and without a first token.
func TestAnswersAtOnce(t *testing.T) {
	p := survey(t, plan.Settings{"max-tokens": "100"}).Tests[0]
	for _, ttft := range []time.Duration{0, 2 * time.Second, 3 * time.Second} {
		e := &backends.Probe{OutputTokens: 10, TTFT: ttft, Latency: 2 * time.Second}
		require.Equal(t, 20*time.Second, AnswerTime(&run.Preflight{Endpoints: []*backends.Probe{e}}, p), ttft)
	}
}

// The row of the duration: several tests are added up, and only a single test names what decides.
func TestDurationOfSeveralTests(t *testing.T) {
	server, other := survey(t, nil), survey(t, plan.Settings{"target-qps": "4"})
	slow := answered(backends.Probe{OutputTokens: 8, TTFT: time.Second, Latency: 1700 * time.Millisecond})
	both := survey(t, nil)
	both.Tests = append(server.Tests, other.Tests...)
	both.Servers = slow
	require.Equal(t, "about 6m25s", row(t, both, "duration").Found)
	quick := answered(backends.Probe{OutputTokens: 128, TTFT: 0, Latency: time.Second - 1})
	server.Servers = quick
	require.Equal(t, "about 4m17s for 513 samples at 2/s (min-duration 10s)", row(t, server, "duration").Found)
	quick.Endpoints[0].Latency = time.Second
	require.Contains(t, row(t, server, "duration").Found, ", and up to 1s for the last answers")
	offline := survey(t, plan.Settings{"scenario": "Offline", "target-qps": "100", "min-duration": "15s"})
	offline.Servers = slow
	require.Equal(t, "about 17s for 1650 samples at 100/s (min-duration 15s)", row(t, offline, "duration").Found)
	open := survey(t, plan.Settings{"scenario": "Offline", "target-qps": ""})
	open.Tests = append(open.Tests, open.Tests[0])
	open.Servers = slow
	require.Equal(t, Check{Name: "duration", State: Unknown, Found: "as long as the server needs for its answers"},
		row(t, open, "duration"))
	open.Tests = append(open.Tests, server.Tests...)
	require.Equal(t, "at least 4m17s", row(t, open, "duration").Found)
}

// The row of the load names each rate once.
func TestLoadOfSeveralTests(t *testing.T) {
	s := survey(t, nil)
	s.Tests = append(s.Tests, s.Tests[0], survey(t, plan.Settings{"target-qps": "4"}).Tests[0],
		survey(t, plan.Settings{"scenario": "Offline", "target-qps": ""}).Tests[0])
	require.Equal(t, Check{Name: "load", State: OK, Found: "Server 2 queries/s; Server 4 queries/s"}, row(t, s, "load"))
	s.Tests = append(s.Tests, survey(t, plan.Settings{"target-qps": ""}).Tests[0])
	c := row(t, s, "load")
	require.Equal(t, Warning, c.State)
	require.Equal(t, "no --target-qps given: Server 50 queries/s, the default of a rehearsal; Server 2 queries/s; "+
		"Server 4 queries/s; the server may not keep up", c.Found)
}

// The number of rows is compared only where the benchmark has one.
func TestRowsOfADataset(t *testing.T) {
	own := survey(t, plan.Settings{"model": "generic", "served-model": "m", "ttft-limit": "1s"})
	require.Regexp(t, "rows.jsonl: 3 rows$", row(t, own, "data set").Found)
	none := survey(t, plan.Settings{"dataset": ""})
	require.Equal(t, Check{Name: "data set", State: NotNeeded, Found: "none given: a synthetic one is made"},
		row(t, none, "data set"))
	require.Equal(t, Check{Name: "prompts", State: NotNeeded, Found: "a synthetic data set has prompts"},
		row(t, none, "prompts"))
	require.True(t, own.ownData())
	require.False(t, none.ownData())
	gone := survey(t, nil)
	require.NoError(t, os.Remove(gone.Tests[0].Config.String("dataset")))
	if _, err := gone.Tests[0].ReadDataset(); err != nil { // it may have been read before
		require.False(t, gone.ownData())
		require.Equal(t, Missing, row(t, gone, "data set").State)
		require.Equal(t, "the data set cannot be read", row(t, gone, "prompts").Found)
	}
	text := filepath.Join(t.TempDir(), "text.jsonl")
	require.NoError(t, os.WriteFile(text, []byte(`{"input":"The cat."}`+"\n"), 0o644))
	generic := plan.Settings{"model": "generic", "served-model": "m", "ttft-limit": "1s", "dataset": text}
	require.Equal(t, OK, row(t, survey(t, generic), "prompts").State)
}

// What prevents a submission is named once for all tests, and with its scenario if not all tests have it.
func TestReasonsOfSeveralTests(t *testing.T) {
	one := survey(t, nil)
	want := row(t, one, "rehearsal").List
	one.Tests = append(one.Tests, one.Tests[0])
	require.Equal(t, want, row(t, one, "rehearsal").List)
	breach := survey(t, plan.Settings{"max-tokens": "5"})
	list := row(t, breach, "rehearsal").List
	require.Contains(t, strings.Join(list, "\n"), "sampling_max_tokens: 5 is sent")
	breach.Tests = append(breach.Tests, breach.Tests[0])
	require.Equal(t, list, row(t, breach, "rehearsal").List)
}

// The first missing row is the table's error; other states are no errors.
func TestErrOfATable(t *testing.T) {
	require.NoError(t, Table{}.Err())
	require.NoError(t, Table{{State: OK}, {State: Warning}, {State: Unknown}, {State: NotNeeded}}.Err())
	require.ErrorIs(t, Table{{State: OK, Err: os.ErrClosed}, {State: Missing, Err: os.ErrExist},
		{State: Missing, Err: os.ErrInvalid}}.Err(), os.ErrExist)
}

func TestOpenFilesBeforeAnswers(t *testing.T) {
	c := row(t, survey(t, nil), "open files")
	require.Equal(t, OK, c.State)
	require.Regexp(t, `^\d+ allowed$`, c.Found)
	s := survey(t, nil)
	s.Servers = answered(backends.Probe{})
	s.Servers.LocalPorts = 1
	require.Equal(t, "1024 allowed; 1 connection to one address", row(t, s, "open files").Found)
}
