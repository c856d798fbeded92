package ldb

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// recorded is a run of two stages: two turns of a stream, and a burst that fails.
func recorded(t *testing.T) *bench.Record {
	t.Helper()
	path := filepath.Join(t.TempDir(), eventlog.FileName)
	w, err := eventlog.Create(path, eventlog.Header{StartNS: 1e9, ID: "chat-1", Model: "m"})
	require.NoError(t, err)
	for i := range 2 { // turns of a session
		at := int64(2e9) + int64(i)*1e9
		require.NoError(t, w.Add(&eventlog.Request{Seq: i, Session: 1, Turn: i, DueNS: at, ReadyNS: at, SentNS: at,
			EndNS: at + 4e8, InputTokens: 10, OutputTokens: 3,
			Events: []eventlog.Event{{AtNS: at + 1e8, Tokens: 1}, {AtNS: at + 2e8, Tokens: 1}, {AtNS: at + 3e8, Tokens: 1}}}))
	}
	require.NoError(t, w.Add(&eventlog.Request{Seq: 2, Stage: 1, DueNS: 5e9, SentNS: 5e9, EndNS: 6e9, Reason: "http_500"}))
	require.NoError(t, w.Close(eventlog.End{Complete: true}))
	m, err := measure.Log(path, measure.Options{})
	require.NoError(t, err)
	return &bench.Record{ID: "chat-1", Profile: "chat", Model: "m", Started: time.Unix(1, 0), Verdict: record.Invalid,
		Measured: m, Endpoints: []bench.Endpoint{{URL: "http://a:1", Server: "vllm", Version: "1"}},
		Stages: []bench.Stage{{Rate: 1, Arrival: profile.Constant}, {Arrival: profile.Burst}}}
}

// finite replaces an infinity, and what is no number, which JSON lacks.
func finite(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = finite(v[key])
		}
	case []any:
		for i := range v {
			v[i] = finite(v[i])
		}
	case float64:
		if math.IsInf(v, 1) {
			return "+Inf"
		}
		if math.IsNaN(v) {
			return "NaN"
		}
	}
	return v
}

func decoded(t *testing.T, version string, r *bench.Record) (list []map[string]any) {
	t.Helper()
	p := &profile.Profile{Data: profile.Data{Kind: profile.Conversations, Turns: &profile.Turns{},
		Input: &profile.Distribution{Kind: "lognormal", Mean: 10, Max: 20}}}
	files, err := Reports(version, r, p, nil)
	require.NoError(t, err)
	for _, f := range files {
		var v map[string]any
		require.NoError(t, yaml.Unmarshal(f.Data, &v))
		list = append(list, finite(v).(map[string]any))
	}
	return list
}

func TestReportsFitTheSchema(t *testing.T) {
	r := recorded(t)
	for version, form := range map[string][]byte{"0.1": schema.LDB01, "0.2": schema.LDB02, "0.2.1": schema.LDB02} {
		s, err := schematest.Compile("ldb-"+version+".schema.json", form)
		require.NoError(t, err)
		list := decoded(t, version, r)
		require.Len(t, list, 2)
		for _, v := range list {
			require.NoError(t, s.Validate(v), version)
		}
		for what, change := range map[string]func(v map[string]any){
			"another version": func(v map[string]any) { v["version"] = "0.3" },
			"an unknown key":  func(v map[string]any) { v["extra"] = 1 },
			"no results":      func(v map[string]any) { delete(v, "metrics"); delete(v, "results") },
		} {
			v := decoded(t, version, r)[0]
			change(v)
			require.Error(t, s.Validate(v), "%s: %s", version, what)
		}
	}
	_, err := Reports("1.0", r, &profile.Profile{}, nil)
	require.ErrorContains(t, err, "0.2.1")
}

// The figures of the first stage, computed by hand.
func TestFigures(t *testing.T) {
	at := func(v any, path ...string) any {
		for _, key := range path {
			v = v.(map[string]any)[key]
		}
		return v
	}
	old, now := decoded(t, "0.1", recorded(t))[0], decoded(t, "0.2.1", recorded(t))[0]
	for _, f := range []any{at(old, "metrics"), at(now, "results", "request_performance", "aggregate")} {
		require.InDelta(t, .1, at(f, "latency", "time_to_first_token", "mean"), 1e-9)
		require.Equal(t, "s/token", at(f, "latency", "time_per_output_token", "units"))
		require.InDelta(t, .1, at(f, "latency", "time_per_output_token", "p99"), 1e-9)
		require.InDelta(t, .4, at(f, "latency", "request_latency", "max"), 1e-9)
		require.EqualValues(t, 2, at(f, "requests", "total"))
		require.EqualValues(t, 10, at(f, "requests", "input_length", "mean"))
	}
	require.InDelta(t, 6/1.4, at(now, "results", "request_performance", "aggregate", "throughput", "output_token_rate",
		"mean"), 1e-9)
	require.EqualValues(t, 2, at(now, "results", "session_performance", "sessions", "total_events"))
	require.InDelta(t, 1.4, at(old, "metrics", "time", "duration"), 1e-9)
	failed := decoded(t, "0.2", recorded(t))[1]
	require.EqualValues(t, 1, at(failed, "results", "request_performance", "aggregate", "requests", "failures"))
	require.Equal(t, "+Inf", at(failed, "scenario", "load", "standardized", "concurrency"))
	require.NotEqual(t, at(failed, "run", "uid"), at(now, "run", "uid"))
}

// Each stage reports its own sessions and calls.
func TestSessionsOfAStage(t *testing.T) {
	r := recorded(t)
	r.Measured.Stages[1].Sessions = &measure.Sessions{Begun: 3, Calls: 7, Answered: 5}
	for i, want := range []map[string]any{
		{"total": 1, "total_events": 2, "total_events_completed": 2, "total_events_cancelled": 0},
		{"total": 3, "total_events": 7, "total_events_completed": 5, "total_events_cancelled": 2},
	} {
		results := decoded(t, "0.2.1", r)[i]["results"].(map[string]any)
		require.Equal(t, map[string]any{"sessions": want}, results["session_performance"])
	}
	results := decoded(t, "0.2.1", recorded(t))[1]["results"].(map[string]any)
	require.NotContains(t, results, "session_performance", "the stage has no session")
}

// Version 0.1 demands a time to the first token. Without a stream it is no number, and a note states this.
func TestNoFirstTokenIsNoNumber(t *testing.T) {
	list := decoded(t, "0.1", recorded(t))
	require.NotContains(t, list[0]["metadata"], "note")
	latency := list[1]["metrics"].(map[string]any)["latency"].(map[string]any)
	require.Equal(t, map[string]any{"units": "s", "mean": "NaN"}, latency["time_to_first_token"])
	require.Contains(t, list[1]["metadata"].(map[string]any)["note"], "not a number")
}

// RFC 4122's example of a name in DNS.
func TestUUID(t *testing.T) {
	require.Equal(t, "2ed6657d-e927-568b-95e1-2665a8aea6a2", uuid("www.example.com"))
}

// Lengths keep their spread and the name of their distribution. A distribution of figures keeps its 25th percentile.
func TestLengths(t *testing.T) {
	normal := &profile.Distribution{Kind: "normal", Mean: 50, StdDev: 7, Min: 10, Max: 90}
	require.Equal(t, fields{"distribution": "gaussian", "value": 50.0, "std_dev": 7.0, "min": 10.0, "max": 90.0},
		lengths(normal, 48))
	uniform := &profile.Distribution{Kind: "uniform", Min: 10, Max: 22}
	require.Equal(t, fields{"distribution": "uniform", "value": 16.0, "std_dev": 12 / math.Sqrt(12), "min": 10.0,
		"max": 22.0}, lengths(uniform, 15))
	require.Equal(t, fields{"distribution": "fixed", "value": 20.0}, lengths(profile.FixedAt(20), 19))
	require.Equal(t, fields{"distribution": "other", "value": 19.0}, lengths(nil, 19))
	s := statistics(seconds, &measure.Distribution{Percentile: map[string]float64{"p25": 0.25}}).(fields)
	require.Equal(t, 0.25, s["p25"])
}

// TestExperiment identifies the experiment, or else the run.
func TestExperiment(t *testing.T) {
	r := recorded(t)
	for id, want := range map[string]string{"": r.ID, "exp-7": "exp-7"} {
		r.Experiment = id
		require.Equal(t, want, decoded(t, "0.2.1", r)[0]["run"].(map[string]any)["eid"])
	}
}

// TestStackName labels the servers with the name of their stack, if the record has it.
func TestStackName(t *testing.T) {
	r := recorded(t)
	for name, want := range map[string]string{"": "server-0", "llm-d-8b-instruct": "llm-d-8b-instruct-0"} {
		r.Stack = name
		stack := decoded(t, "0.2.1", r)[0]["scenario"].(map[string]any)["stack"].([]any)
		require.Equal(t, want, stack[0].(map[string]any)["metadata"].(map[string]any)["label"])
	}
}
