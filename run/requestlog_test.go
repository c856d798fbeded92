package run

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// A request log that was started while LoadGen still worked is that of the record. If it could not be written, or its
// folder was lost, it is written again. TestLoadGenThatDoesNotReturn starts one in a whole run.
func TestEarlyRequestLog(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(t *testing.T, r *test) // before the log
		after  func(t *testing.T, r *test) // after the log, before the test is finished
	}{
		{"written", nil, func(t *testing.T, r *test) { require.FileExists(t, r.path(record.RequestsName)) }},
		{"not written at first", func(t *testing.T, r *test) {
			require.NoError(t, os.MkdirAll(filepath.Join(r.path(record.RequestsName), "x"), 0o755))
		}, func(t *testing.T, r *test) { require.NoError(t, os.RemoveAll(r.path(record.RequestsName))) }},
		{"in a lost folder", nil, func(t *testing.T, r *test) { require.NoError(t, os.RemoveAll(r.folder)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := ended(t, Settings{"scenario": "Offline"})
			run.complete(0, 1, ledger.Completion{OutputTokens: 5})
			var err error
			run.lock, err = claim(run.folder, true, run.plan.Access())
			require.NoError(t, err)
			t.Cleanup(run.lock.release)
			if c.before != nil {
				c.before(t, run)
			}
			run.early = run.startRequestLog(nil)
			result := <-run.early.written
			run.early.written <- result
			require.Equal(t, c.before != nil, result != nil, "%v", result)
			c.after(t, run)
			_, err = run.finish(context.Background())
			if c.name == "in a lost folder" {
				require.ErrorContains(t, err, "was deleted while the test ran")
				t.Cleanup(func() { require.NoError(t, os.RemoveAll(run.folder)) })
			} else {
				require.NoError(t, err)
			}
			log, err := ledger.ReadRequests(run.path(record.RequestsName))
			require.NoError(t, err)
			require.Len(t, log.Entries, 1)
			require.EqualValues(t, 5, log.Entries[0].OutputTokens)
			r, err := record.Read(run.folder)
			require.NoError(t, err)
			require.EqualValues(t, 1, r.Samples.Completed)
			sums, err := hashFiles(run.folder)
			require.NoError(t, err)
			require.Equal(t, sums[record.RequestsName], r.Files[record.RequestsName])
		})
	}
}

// Only a performance test has one series of queries, after which no sample changes. Small tests keep their memory low.
func TestWhenTheRequestLogIsEarly(t *testing.T) {
	for _, c := range []struct {
		mode string
		from int64
		want int
	}{{"performance", 1, 1}, {"performance", 2, 0}, {"accuracy", 1, 0}} {
		run := ended(t, Settings{"scenario": "Offline", "mode": c.mode})
		run.complete(0, 0, ledger.Completion{OutputTokens: 5})
		run.earlyFrom = c.from
		run.settle()
		run.settle() // a second call does not block
		require.Len(t, run.final, c.want, "%s from %d", c.mode, c.from)
		_, err := run.finish(context.Background())
		require.NoError(t, err)
	}
}
