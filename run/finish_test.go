package run

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/qsl"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/profile"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// ended is a test whose samples have ended, without logs of LoadGen.
func ended(t *testing.T, settings Settings) *test {
	t.Helper()
	ds := &datasets.Dataset{Samples: []datasets.Sample{{InputIDs: []int32{1, 2, 3}}, {Index: 1, InputIDs: []int32{1}}}}
	library, err := qsl.New(qsl.Options{Dataset: ds,
		Encode: func(dst []byte, _ *datasets.Sample) ([]byte, error) { return dst, nil }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	all := Settings{"model": "llama3.1-8b", "scenario": "Server", "endpoint": "http://host:1", "target-qps": "10"}
	maps.Copy(all, settings)
	p := planned(t, 13368, all)
	folder := t.TempDir()
	t.Cleanup(func() { schematest.Records(t, folder) })
	run := newTest(p, nil, folder)
	run.dataset, run.requests.library, run.started, run.pre = ds, library, time.Now(), &Preflight{}
	run.ledger = ledger.New(1, 0)
	run.config = &backends.Config{Endpoints: []backends.Endpoint{{URL: "http://a"}, {URL: "http://b"}},
		RequestOptions: backends.RequestOptions{ServedModel: "m"}}
	run.failures = &failures{path: filepath.Join(folder, record.FailuresName)}
	run.backends = []backends.Backend{connected{}, connected{}}
	run.sampler, err = hostinfo.StartSampler(time.Hour)
	require.NoError(t, err)
	run.clock, err = hostinfo.WatchClocks()
	require.NoError(t, err)
	require.NoError(t, run.reserve())
	require.NoError(t, os.MkdirAll(run.path(record.LogFolder), 0o755))
	run.logs = watchLogs(run.path(record.LogFolder))
	run.models = watchModels(mute{}, run.config, run.pre)
	t.Cleanup(run.logs.close)
	return run
}

// connected is a backend that has opened connections and excluded an endpoint.
type connected struct{ backends.Backend }

func (connected) Features() backends.Features {
	return backends.Features{Traffic: func() backends.Traffic {
		return backends.Traffic{Connections: []int64{3, 4}, Exclusions: []int64{0, 1}}
	}}
}

// complete ends a sample.
func (t *test) complete(seq, index int, c ledger.Completion) {
	s := t.ledger.Shard(0)
	s.Issue(seq, index, 100)
	if c.Reason == "" && c.OutputTokens > 0 {
		s.FirstToken(seq, 200)
	}
	c.DoneNS = 300
	s.Complete(seq, &c)
}

// A run reports every file that it could not write, besides its other errors.
func TestUnwrittenFilesAreReported(t *testing.T) {
	full := errors.New("the disk is full")
	for name, c := range map[string]struct {
		spoil func(t *test) error
		want  string
	}{
		"nothing": {func(*test) error { return nil }, ""},
		"the list of failures": {func(r *test) error {
			r.failures.path = filepath.Join(r.folder, "none", record.FailuresName)
			r.failures.add(backends.Attempt{Reason: "reset"})
			return nil
		}, record.FailuresName},
		"the request log": {func(r *test) error {
			return os.MkdirAll(filepath.Join(r.folder, record.RequestsName, "x"),
				0o755)
		},
			record.RequestsName},
		"what judges programs": {func(r *test) error {
			r.scorer = &scorer{notScored: "no tokenizer", judges: plan.Judges{Close: func() error { return full }}}
			return nil
		}, full.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			run := ended(t, Settings{"scenario": "Offline"})
			run.complete(0, 0, ledger.Completion{OutputTokens: 5})
			require.NoError(t, c.spoil(run))
			r, err := run.finish(context.Background())
			require.NoError(t, err)
			require.Equal(t, record.Invalid, r.Verdict, "there are no logs")
			told := ""
			for _, reason := range r.Reasons {
				if reason.Code == record.CodeLogIncomplete && reason.Value == nil &&
					!strings.Contains(reason.Text, "wrote no logs") {
					told = reason.Text
				}
			}
			if c.want == "" {
				require.Empty(t, told)
			} else {
				require.Contains(t, told, "a log could not be written: ")
				require.Contains(t, told, c.want)
			}
			require.FileExists(t, run.path(record.FileName))
			require.NotContains(t, r.Files, record.FileName)
			if name != "the request log" {
				require.Len(t, r.Files[record.RequestsName], 64)
			}
			require.NoFileExists(t, run.path(record.ReserveName))
		})
	}
}

// What the record counts, from a ledger in which everything happened.
func TestCountsOfTheRecord(t *testing.T) {
	run := ended(t, Settings{"scenario": "Offline", "backend": "vllm"})
	ids, usage := ledger.TokensFromIDs, ledger.TokensFromUsage
	run.complete(0, 0, ledger.Completion{OutputTokens: 5, InputTokens: 3, Source: ids, Endpoint: 0, Events: 4, Merged: 1})
	// a prompt of another length than the sent one
	run.complete(1, 0, ledger.Completion{OutputTokens: 5, InputTokens: 4, Source: usage, Endpoint: 1, Retries: 2})
	run.complete(2, 1, ledger.Completion{OutputTokens: 1, InputTokens: 1, Source: ids, Endpoint: 1})
	run.complete(3, 1, ledger.Completion{OutputTokens: 0, Source: ids})
	run.complete(4, 1, ledger.Completion{Reason: "empty"})
	run.complete(5, 0, ledger.Completion{Reason: "token_count_mismatch", Endpoint: 1, Retries: 1})
	run.complete(6, 0, ledger.Completion{Reason: "no_endpoint", Endpoint: -1})
	shard := run.ledger.Shard(0)
	shard.FirstToken(0, 400)                               // again
	shard.Complete(1, &ledger.Completion{OutputTokens: 9}) // again
	shard.Complete(1, &ledger.Completion{OutputTokens: 9})
	for range 4 {
		shard.FirstToken(99, 100) // never issued
	}
	shard.Issue(7, 0, 100) // not ended
	r, err := run.finish(context.Background())
	require.NoError(t, err)
	require.Equal(t, record.SampleCounts{
		Issued: 8, Completed: 7, Failed: 3, Retried: 2, FirstTokens: 3, Empty: 2, FailureRate: 3. / 7,
		FailedByReason: map[ledger.Reason]int64{"empty": 1, "token_count_mismatch": 1, "no_endpoint": 1},
	}, r.Samples)
	require.Equal(t, record.TokenCounts{Input: 8, Output: 11, Source: "ids+usage", Mismatches: 1, Events: 4, Merged: 1},
		r.Tokens)
	e := &record.Evidence{}
	run.count(&record.Record{}, e, run.timed())
	require.Equal(t, []any{1, 1, int64(7)}, []any{e.OneToken, e.OtherPrompts, e.Misreported})
	require.Equal(t, []record.EndpointCounts{
		{URL: "http://a", Requests: 3, Failed: 1, Connections: 6},
		{URL: "http://b", Requests: 3, Failed: 1, Retried: 3, Connections: 8, Excluded: 2},
	}, r.Endpoints)
	require.False(t, r.LoadGen.Complete)
	require.NotNil(t, r.LoadGen.Result)
}

// The server's template changes the prompt of a chat, so its number of tokens is not compared with the row's.
func TestPromptsOfAChatAreNotCompared(t *testing.T) {
	run := ended(t, Settings{"scenario": "Offline", "api": "chat"})
	run.complete(0, 0, ledger.Completion{OutputTokens: 5, InputTokens: 40})
	run.complete(1, 77, ledger.Completion{OutputTokens: 5, InputTokens: 40}) // not a row of the data set
	e := &record.Evidence{}
	run.count(&record.Record{}, e, run.timed())
	require.Zero(t, e.OtherPrompts)
}

// Latencies count from the same moment as LoadGen's.
func TestOriginOfLatencies(t *testing.T) {
	for _, c := range []struct {
		scenario, mode string
		want           ledger.Origin
		scheduled      bool
	}{
		{"Offline", "performance", ledger.FromStart, false},
		{"Offline", "accuracy", ledger.FromStart, false},
		{"Server", "performance", ledger.FromSchedule, true},
		{"Server", "accuracy", ledger.FromIssue, false},
	} {
		run := ended(t, Settings{"scenario": c.scenario, "mode": c.mode})
		run.settings = loadgen.DefaultTestSettings()
		run.complete(0, 0, ledger.Completion{OutputTokens: 5})
		data := run.timed()
		require.Equal(t, c.want, data.Origin, "%s %s", c.scenario, c.mode)
		require.Equal(t, c.scheduled, len(data.Schedule) > 0)
		_, err := run.finish(context.Background())
		require.NoError(t, err)
	}
}

func TestPartsOfTheRecord(t *testing.T) {
	entry := func(tokens int32, done int64, reason ledger.Code) ledger.Entry {
		return ledger.Entry{OutputTokens: tokens, DoneNS: done, Reason: reason}
	}
	require.Equal(t, 3, medianOutput([]ledger.Entry{entry(9, 1, 0), entry(3, 1, 0), entry(1, 1, 0), entry(50, 1, 2),
		entry(70, 0, 0)}))
	require.Equal(t, 8, medianOutput([]ledger.Entry{entry(8, 1, 0), entry(2, 1, 0)}))
	require.Zero(t, medianOutput(nil))

	require.Equal(t, []any{"NaN", "+Inf", "-Inf", 1.5, "x", int64(3)}, []any{
		jsonValue(math.NaN()), jsonValue(math.Inf(1)), jsonValue(math.Inf(-1)), jsonValue(1.5), jsonValue("x"),
		jsonValue(int64(3))})

	warned := func(texts ...string) *mllog.Result {
		logs := &mllog.Result{}
		for _, text := range texts {
			logs.WarningTexts = append(logs.WarningTexts, mllog.Text{Text: text, Count: 1})
		}
		return logs
	}
	require.True(t, audited(warned("another", mllog.AuditTaken+" (audit.config). Overwriting TestSettings.")))
	require.False(t, audited(warned("another", "no "+mllog.AuditTaken)))
	require.False(t, audited(nil))

	r := loadgenResult(&mllog.Result{Complete: true, Errors: 2, Warnings: 3, Missing: []string{"x"},
		Result: map[string]any{
			"result_a": 1, "effective_b": 2, "early_stopping_c": 3, "requested_d": 4, "result_nan": math.NaN()}})
	require.Equal(t, record.LoadGenResult{Complete: true, Errors: 2, Warnings: 3, Missing: []string{"x"},
		Result: map[string]any{
			"result_a": 1, "effective_b": 2, "early_stopping_c": 3, "result_nan": "NaN"}}, r)
}

// unused is a profiler that no query reaches.
type unused struct{}

func (unused) How() string                 { return "a test" }
func (unused) Start(context.Context) error { return nil }
func (unused) Stop(context.Context) error  { return nil }

// The record contains the result of the profiling. A window that was not reached is a note.
func TestRecordOfTheProfile(t *testing.T) {
	run := ended(t, Settings{"scenario": "Offline"})
	run.complete(0, 0, ledger.Completion{OutputTokens: 5})
	run.profile = profile.New(profile.Window{Start: 10, Count: 5}, unused{})
	run.profile.Begin(context.Background())
	r, err := run.finish(context.Background())
	require.NoError(t, err)
	require.NotNil(t, r.Profile)
	require.Equal(t, "a test", r.Profile.How)
	require.NotEmpty(t, r.Profile.Error)
	require.Contains(t, r.Notes, "--profile-window: "+r.Profile.Error)
	saved, err := record.Read(run.folder)
	require.NoError(t, err)
	require.Equal(t, r.Profile, saved.Profile)
}

// Probes that cannot be prepared are an error and no client.
func TestProbesThatCannotBePrepared(t *testing.T) {
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	for name, open := range map[string]func(context.Context, *Plan, Observer, string) (*ProbeClient, error){
		"probes": OpenProbes, "assigned": OpenAssigned} {
		p, err := New(Settings{"model": "llama3.1-8b", "scenario": "Server", "endpoint": "http://127.0.0.1:1",
			"target-qps": "10", "dataset": filepath.Join(t.TempDir(), "none.json")})
		require.NoError(t, err, name)
		c, err := open(context.Background(), p, nil, t.TempDir())
		require.ErrorContains(t, err, "none.json", name)
		require.Nil(t, c, name)
	}
}
