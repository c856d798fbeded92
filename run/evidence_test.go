package run

import (
	"errors"
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
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// observed is what the parts of a test observed, from which its record is made.
type observed struct {
	*evidence
	logs    *mllog.Result
	process hostinfo.Process
	drift   time.Duration
}

// observe returns the evidence of a valid Offline test of two samples. No test ran, and there is no folder.
func observe(t *testing.T) *observed {
	t.Helper()
	ds := &datasets.Dataset{Samples: []datasets.Sample{{InputIDs: []int32{1, 2, 3}}, {Index: 1, InputIDs: []int32{1}}}}
	library, err := qsl.New(qsl.Options{Dataset: ds,
		Encode: func(dst []byte, _ *datasets.Sample) ([]byte, error) { return dst, nil }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	valid := true
	o := &observed{evidence: &newTest(planned(t, 13368, Settings{"model": "llama3.1-8b", "scenario": "Offline",
		"endpoint": "http://a", "backend": "vllm", "target-qps": "10"}), nil, "").evidence,
		logs: &mllog.Result{Valid: &valid, Complete: true, Result: map[string]any{"result_tokens_per_second": 10.}}}
	o.dataset, o.requests.library, o.pre, o.started = ds, library, &Preflight{}, time.Now()
	o.ledger, o.models = ledger.New(1, 0), &modelWatch{}
	o.config = &backends.Config{Endpoints: []backends.Endpoint{{URL: "http://a"}},
		RequestOptions: backends.RequestOptions{ServedModel: "m"}}
	o.settings = loadgen.DefaultTestSettings()
	o.end(0, 0, ledger.Completion{OutputTokens: 5, InputTokens: 3, Source: ledger.TokensFromIDs})
	o.end(1, 1, ledger.Completion{OutputTokens: 5, InputTokens: 1, Source: ledger.TokensFromIDs})
	return o
}

// end issues a sample and ends it 200 ns later.
func (o *observed) end(seq, index int, c ledger.Completion) {
	s := o.ledger.Shard(0)
	s.Issue(seq, index, 100)
	if c.Reason == "" {
		s.FirstToken(seq, 200)
	}
	c.DoneNS = 300
	s.Complete(seq, &c)
}

func (o *observed) judged() *record.Record {
	data := o.timed()
	return o.record(data, data.Metrics(), o.logs, o.process, o.drift, nil, nil, "")
}

// askless is a backend that reads answers which no request asked for.
type askless struct{ backends.Backend }

func (askless) Features() backends.Features {
	return backends.Features{Traffic: func() backends.Traffic { return backends.Traffic{Unasked: 2, Strays: 1} }}
}

// Each kind of evidence changes the record of a valid test, or its verdict, in its own way.
func TestEachKindOfEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		observe func(o *observed)
		codes   []record.Code // of the verdict; empty: it is VALID
		verdict record.Verdict
		check   func(t *testing.T, r *record.Record) // nil: only the verdict
	}{
		"a good test": {func(*observed) {}, nil, record.Valid, func(t *testing.T, r *record.Record) {
			require.Equal(t, record.SampleCounts{Issued: 2, Completed: 2, FirstTokens: 2,
				FailedByReason: map[ledger.Reason]int64{}}, r.Samples)
			require.Equal(t, "m", r.ServedModel)
			require.True(t, r.LoadGen.Complete)
		}},
		"a failed sample": {func(o *observed) { o.end(2, 0, ledger.Completion{Reason: ledger.FailReset}) },
			[]record.Code{record.CodeFailedSamples}, record.Invalid, func(t *testing.T, r *record.Record) {
				require.Equal(t, map[ledger.Reason]int64{ledger.FailReset: 1}, r.Samples.FailedByReason)
			}},
		"a sample without an end": {func(o *observed) { o.ledger.Shard(0).Issue(2, 0, 100) },
			[]record.Code{record.CodeFailedSamples}, record.Invalid, nil},
		"a report of a sample that was not issued": {func(o *observed) { o.ledger.Shard(0).FirstToken(99, 100) },
			[]record.Code{record.CodeMisreported}, record.Invalid, nil},
		"a prompt of another length": {func(o *observed) {
			o.end(2, 0, ledger.Completion{OutputTokens: 5, InputTokens: 9, Source: ledger.TokensFromIDs})
		}, []record.Code{record.CodeTokenMismatch}, record.Invalid, nil},
		"answers that no request asked for": {func(o *observed) { o.backends = []backends.Backend{askless{}} },
			[]record.Code{record.CodeUnaskedAnswers}, record.Invalid, func(t *testing.T, r *record.Record) {
				require.EqualValues(t, 2, r.Answers.Unasked)
			}},
		"another model": {func(o *observed) { o.models.others = []string{"http://a: it serves another model"} },
			[]record.Code{record.CodeWrongModel}, record.Invalid, nil},
		"a step of the clock": {func(o *observed) { o.drift = time.Hour }, []record.Code{record.CodeClockStep},
			record.Invalid, func(t *testing.T, r *record.Record) { require.InDelta(t, 3.6e9, r.Client.ClockDriftUS, 1) }},
		"no logs": {func(o *observed) { o.logs = nil }, []record.Code{record.CodeLogIncomplete}, record.Invalid, nil},
		"errors in the logs": {func(o *observed) { o.logs.Errors = 1 }, []record.Code{record.CodeLoadGenErrors},
			record.Invalid, nil},
		"LoadGen's own verdict": {func(o *observed) { *o.logs.Valid = false }, []record.Code{record.CodeLoadGenInvalid},
			record.Invalid, nil},
		"an audit without its configuration": {func(o *observed) {
			o.logs.WarningTexts = []mllog.Text{{Text: mllog.AuditTaken + "."}}
		}, []record.Code{record.CodeStrayAuditConfig}, record.Invalid, nil},
		"an early end by a signal": {func(o *observed) { o.ended, o.outside = errors.New("interrupted"), true },
			[]record.Code{record.CodeInterrupted}, record.Interrupted, nil},
		"figures of the process": {func(o *observed) { o.process.CPUUserS, o.process.ThreadsMax = 3, 7 }, nil, record.Valid,
			func(t *testing.T, r *record.Record) {
				require.InDelta(t, 3, r.Client.CPUS, 1e-9)
				require.InDelta(t, 1.5e6, r.Client.CPUUSPerSample, 1e-3)
				require.Equal(t, 7, r.Client.ThreadsMax)
			}},
		"the issue thread": {func(o *observed) { o.wakes, o.full = 4, 2 }, nil, record.Valid,
			func(t *testing.T, r *record.Record) {
				require.EqualValues(t, []any{4, 2}, []any{r.Client.RingWakes, r.Client.RingFullWaits})
			}},
		"an emptied cache": {func(o *observed) { o.caches = []record.PrefixCache{record.CacheEmptied} }, nil, record.Valid,
			func(t *testing.T, r *record.Record) {
				require.Equal(t, record.CacheEmptied, r.Endpoints[0].PrefixCache)
			}},
		"an unusual finish reason": {func(o *observed) { o.finishes.add("eos") }, nil, record.Valid,
			func(t *testing.T, r *record.Record) {
				require.Contains(t, r.Notes, `1 answer ended with finish_reason "eos", which is unusual: counted as whole`)
			}},
		"notes of the parts": {func(o *observed) { o.notes, o.models.notes = []string{"one"}, []string{"two"} }, nil,
			record.Valid, func(t *testing.T, r *record.Record) { require.Subset(t, r.Notes, []string{"one", "two"}) }},
		"a tokenizer that counted": {func(o *observed) {
			o.counter = &finder.Source{Place: "here"}
			o.end(2, 0, ledger.Completion{OutputTokens: 5, InputTokens: 3, Source: ledger.TokensFromTokenizer})
		}, nil, record.Valid, func(t *testing.T, r *record.Record) { require.Equal(t, "here", r.Tokenizer.Place) }},
	} {
		t.Run(name, func(t *testing.T) {
			o := observe(t)
			c.observe(o)
			r := o.judged()
			var codes []record.Code
			for _, cause := range r.Reasons {
				codes = append(codes, cause.Code)
			}
			require.Equal(t, c.codes, codes, "%v", r.Reasons)
			require.Equal(t, c.verdict, r.Verdict)
			if c.check != nil {
				c.check(t, r)
			}
		})
	}
}
