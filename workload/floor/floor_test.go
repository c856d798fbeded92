package floor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// sample returns a calibration of a machine.
func sample(h *hostinfo.Facts) *Calibration {
	return &Calibration{Schema: Schema, Tool: record.Tool{Version: "1.0"}, Machine: MachineOf(h), Shards: 1,
		Highest: Rates{Requests: 40_000, Tokens: 2_000_000}, Errors: Errors{Event: Spread{Mean: 30e-6}},
		Shortest: Shortest{TTFT: Spread{Mean: 80e-6}}}
}

func TestBeside(t *testing.T) {
	here := hostinfo.Facts{CPUModel: "Example CPU", CPUsAllowed: 8, Kernel: "6.1", Arch: "amd64"}
	c := sample(&here)
	use := Beside(c, &here, record.Tool{Version: "1.0"}, Rates{Requests: 200, Tokens: 25_600}, 1)
	require.Equal(t, "at most 40000 requests/s and 2000000 tokens/s, TTFT from 0.080 ms, events 0.030 ms late "+
		"on this machine; this run had 1.3 % of the highest rate", use.String())
	require.Empty(t, use.Foreign)
	require.InDelta(t, 0.0128, use.Share, 1e-9, "tokens are the larger share")
	require.InDelta(t, 0.5, Beside(c, &here, c.Tool, Rates{Requests: 20_000, Tokens: 20_000}, 1).Share, 1e-9)

	there := hostinfo.Facts{CPUModel: "Other CPU", CPUsAllowed: 4, Kernel: "6.2", Arch: "arm64"}
	use = Beside(c, &there, record.Tool{Version: "1.1"}, Rates{}, 2)
	require.Equal(t, []string{`CPU "Example CPU", not "Other CPU"`, `kernel "6.1", not "6.2"`,
		`architecture "amd64", not "arm64"`, `version "1.0", not "1.1"`, "8 CPUs, not 4", "1 event loops, not 2"}, use.Foreign)
	require.Contains(t, use.String(), `calibrated elsewhere (CPU "Example CPU", not "Other CPU"; `)
	require.NotContains(t, use.String(), "on this machine")
}

func TestFiles(t *testing.T) {
	here := hostinfo.Collect()
	good := filepath.Join(t.TempDir(), FileName)
	want := sample(&here)
	require.NoError(t, want.Write(good))
	got, err := Read(good)
	require.NoError(t, err)
	require.Equal(t, want, got)

	form, err := schematest.Compile("calibration.schema.json", schema.Calibration)
	require.NoError(t, err)
	text, err := os.ReadFile(good)
	require.NoError(t, err)
	var document map[string]any
	require.NoError(t, json.Unmarshal(text, &document))
	require.ErrorContains(t, form.Validate(document), "closed_loop", "a calibration without points")
	point := map[string]any{"concurrency": 1, "requests_per_s": 9.5}
	document["closed_loop"] = []any{point}
	document["open_loop"] = []any{map[string]any{"asked_per_s": 9, "sent_per_s": 9, "client_delay_p99_s": 1e-4,
		"held": true}}
	errs := document["event_time_errors"].(map[string]any)
	errs["tokens_per_answer"], errs["requests_per_s"] = 128, 200
	require.NoError(t, form.Validate(document))
	point["extra"] = 1
	require.Error(t, form.Validate(document), "a key that is not known")

	text, err = json.Marshal(want)
	require.NoError(t, err)
	for name, c := range map[string]struct{ text, want string }{
		"cut":       {string(text[:40]), "unexpected EOF"},
		"two":       {string(text) + "{}", "text follows the object"},
		"unknown":   {strings.Replace(string(text), `"shards"`, `"shard"`, 1), `unknown field "shard"`},
		"of a run":  {`{"schema":"mlperf-go/bench/1"}`, `its schema is "mlperf-go/bench/1", not "` + Schema},
		"no rates":  {`{"schema":"` + Schema + `"}`, "highest.requests_per_s and highest.tokens_per_s must be above 0"},
		"endless":   {strings.Repeat(" ", longest+1), ""},
		"not there": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), FileName)
			if name != "not there" {
				require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			}
			_, err := Read(path)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, exit.StatusUsage, exit.Classify(err).Exit)
		})
	}
}
