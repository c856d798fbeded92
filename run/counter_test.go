package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// counted is an accuracy test of four samples, one of which failed, whose answers have as many tokens as words.
func counted(t *testing.T) (*test, *record.Record, *ledger.Test) {
	t.Helper()
	run := ended(t, Settings{"mode": "accuracy"})
	run.counter = &finder.Source{Place: "of-the-test"}
	run.config.CountText = func(text []byte) (int, error) { return len(strings.Fields(string(text))), nil }
	write := func(data string) {
		require.NoError(t, os.WriteFile(filepath.Join(run.path(record.LogFolder), mllog.AccuracyName), []byte(data), 0o600))
	}
	write(`[{"seq_id": 0, "qsl_idx": 5, "data": "612062", "token_count": 2},
{"seq_id": 1, "qsl_idx": 6, "data": "61206220632064", "token_count": 4},
{"seq_id": 2, "qsl_idx": 7, "data": "61", "token_count": 1},
{"seq_id": 3, "qsl_idx": 8, "data": "6120622063", "token_count": 3}]`)
	data := &ledger.Test{Names: ledger.Names{Reasons: []ledger.Reason{"", "reset"}}, Entries: []ledger.Entry{
		{Index: 5, DoneNS: 1, OutputTokens: 2}, {Index: 6, DoneNS: 1, OutputTokens: 4}, {Index: 7, DoneNS: 1, Reason: 1,
			OutputTokens: 9}, {Index: 8, DoneNS: 1, OutputTokens: 3}}}
	r := &record.Record{}
	r.Tokens.Source = ledger.TokensFromUsage
	return run, r, data
}

// A tokenizer counts again what the servers counted; sums that are more than a twentieth apart are noted.
func TestRecount(t *testing.T) {
	run, r, data := counted(t)
	c, err := run.recount(r, data, run.accuracyLog())
	require.NoError(t, err)
	require.Equal(t, &record.Recount{Samples: 3, Server: 9, Tokenizer: 9}, c)
	require.Empty(t, r.Notes)

	data.Entries[1].OutputTokens, data.Entries[3].OutputTokens = 5, 1
	c, err = run.recount(r, data, run.accuracyLog())
	require.NoError(t, err)
	require.Equal(t, &record.Recount{Samples: 3, Server: 8, Tokenizer: 9, Apart: 1, LargestGap: 2}, c)
	require.Len(t, r.Notes, 1)
	require.Contains(t, r.Notes[0], "the servers count 8 output tokens where of-the-test has 9 in the text of the same 3 "+
		"answers")
	r.Notes = nil
	for server, noted := range map[int32]bool{2 + 93: false, 2 + 94: true, 2 + 84: false, 2 + 83: true} {
		// the other two have 4 and 3; the tokenizer's are 90 + 7
		run.config.CountText = func(text []byte) (int, error) {
			if n := len(strings.Fields(string(text))); n > 2 {
				return n, nil
			}
			return 90, nil
		}
		data.Entries[0].OutputTokens, data.Entries[1].OutputTokens, data.Entries[3].OutputTokens = server, 4, 3
		_, err = run.recount(r, data, run.accuracyLog())
		require.NoError(t, err)
		require.Equal(t, noted, len(r.Notes) > 0, "%d where the tokenizer has 97", server+7)
		r.Notes = nil
	}
}

func TestWhenNothingIsRecounted(t *testing.T) {
	for name, change := range map[string]func(run *test, r *record.Record, data *ledger.Test){
		"no tokenizer":         func(run *test, _ *record.Record, _ *ledger.Test) { run.counter = nil },
		"performance":          func(run *test, _ *record.Record, _ *ledger.Test) { run.plan.Mode = "performance" },
		"counts of ids":        func(_ *test, r *record.Record, _ *ledger.Test) { r.Tokens.Source = ledger.TokensFromIDs },
		"nothing was answered": func(_ *test, _ *record.Record, data *ledger.Test) { data.Entries = nil },
	} {
		run, r, data := counted(t)
		change(run, r, data)
		c, err := run.recount(r, data, run.accuracyLog())
		require.NoError(t, err, name)
		require.Nil(t, c, name)
	}
	run, r, data := counted(t)
	run.config.CountText = func([]byte) (int, error) { return 0, errors.New("no tokenizer") }
	_, err := run.recount(r, data, run.accuracyLog())
	require.ErrorContains(t, err, "no tokenizer")
	require.NoError(t, os.Remove(filepath.Join(run.path(record.LogFolder), mllog.AccuracyName)))
	_, err = run.recount(r, data, run.accuracyLog())
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Only a benchmark that does not need ids uses the tokenizer that the user named.
func TestWhenATokenizerCounts(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		counter  bool
		needIDs  bool
		used     bool
	}{
		"named":       {Settings{}, true, false, true},
		"ids needed":  {Settings{}, true, true, false},
		"none to ask": {Settings{}, false, false, false},
	} {
		run := ended(t, c.settings)
		require.NoError(t, run.plan.Config.Set("tokenizer", "x", plan.SimulatorOrigin))
		run.config.NeedIDs = c.needIDs
		if c.counter {
			run.plan.Counter = func(context.Context) (*finder.Found, error) {
				return &finder.Found{Source: finder.Source{Place: "p"}}, nil
			}
		}
		require.NoError(t, run.findCounter(t.Context()), name)
		require.Equal(t, c.used, run.counter != nil, name)
		require.Equal(t, c.used, run.config.CountText != nil, name)
	}
	run := ended(t, nil)
	run.plan.Counter = func(context.Context) (*finder.Found, error) { return nil, errors.New("none found") }
	require.NoError(t, run.findCounter(t.Context()), "none was named")
	require.NoError(t, run.plan.Config.Set("tokenizer", "x", plan.SimulatorOrigin))
	require.ErrorContains(t, run.findCounter(t.Context()), "none found")

	r := &record.Record{}
	run.counter = &finder.Source{Place: "p"}
	require.Nil(t, run.countedBy(r))
	r.Tokens.Source = ledger.TokensFromTokenizer
	require.Same(t, run.counter, run.countedBy(r))
	r.Tokens.Source, r.Tokens.Recount = ledger.TokensFromUsage, &record.Recount{}
	require.Same(t, run.counter, run.countedBy(r))
}
