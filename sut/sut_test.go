//go:build cgo && !noloadgen

package sut_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/sut"
)

// server returns a Server job that takes about one second.
func server(backend string) job {
	return job{Backend: backend, Scenario: loadgen.Server, Mode: loadgen.PerformanceOnly, Queries: 300, QPS: 1000,
		MaxErrors: -1}
}

func with(j job, change func(*job)) job {
	change(&j)
	return j
}

func TestEveryScenarioIsAnsweredOnce(t *testing.T) {
	for _, scenario := range []loadgen.TestScenario{loadgen.Offline, loadgen.Server, loadgen.SingleStream} {
		for _, mode := range []loadgen.TestMode{loadgen.PerformanceOnly, loadgen.AccuracyOnly} {
			t.Run(scenario.String()+" "+mode.String(), func(t *testing.T) {
				t.Parallel()
				j := with(server("good"), func(j *job) { j.Scenario, j.Mode, j.Dir = scenario, mode, t.TempDir() })
				s := doIn(t, j)
				require.True(t, s.Returned)
				require.Empty(t, s.Cause)
				require.Empty(t, s.WaitErr)
				want := int64(j.Queries)
				if mode == loadgen.AccuracyOnly {
					want = samples
				}
				c := s.Counts
				require.Equal(t, want, c.Issued)
				require.Equal(t, want, c.Completed)
				require.Equal(t, want, c.FirstTokens)
				require.Equal(t, 3*want, c.OutputTokens)
				require.Zero(t, c.Failed+c.Empty+c.Duplicates+c.Unknown)
				require.Equal(t, []int64{want}, s.Settled, "once, after the last answer")
				logs, err := mllog.Summarize(j.Dir)
				require.NoError(t, err)
				require.True(t, logs.Complete, logs.Missing)
				require.Zero(t, logs.Errors, logs.ErrorTexts)
				if mode == loadgen.AccuracyOnly {
					checkAnswers(t, j, func(e *mllog.AccuracyEntry) {
						require.Equal(t, ids(int32(e.QSLIdx), 7, 2), e.Data)
						require.EqualValues(t, 3, e.TokenCount)
					})
				}
			})
		}
	}
}

// The backend of a bulk reports several answers at once. All of them, and the failures between them, reach LoadGen
// once.
func TestBulk(t *testing.T) {
	for _, mode := range []loadgen.TestMode{loadgen.PerformanceOnly, loadgen.AccuracyOnly} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			j := with(server("bulk"), func(j *job) {
				j.Scenario, j.Mode, j.Dir, j.Bulk, j.Shards = loadgen.Offline, mode, t.TempDir(), true, 2
			})
			s := doIn(t, j)
			require.True(t, s.Returned)
			require.Empty(t, s.Cause)
			require.Empty(t, s.WaitErr)
			want := int64(j.Queries)
			if mode == loadgen.AccuracyOnly {
				want = samples
			}
			require.Equal(t, want, s.Counts.Completed+s.Counts.Failed)
			require.Equal(t, want, s.Counts.Duplicates)
			require.Equal(t, want/5, s.Counts.Failed)
			logs, err := mllog.Summarize(j.Dir)
			require.NoError(t, err)
			require.True(t, logs.Complete, logs.Missing)
			if mode == loadgen.AccuracyOnly {
				checkAnswers(t, j, func(e *mllog.AccuracyEntry) {
					if e.SeqID%5 == 4 {
						require.Empty(t, e.Data)
						return
					}
					require.Equal(t, ids(int32(e.QSLIdx), 7, 2), e.Data)
				})
			}
		})
	}
}

// A sink whose answers have times of their own reports each at once.
func TestNoBulkWithFirstTokens(t *testing.T) {
	t.Parallel()
	j := server("bulk")
	j.Bulk = true
	require.Contains(t, do(t, j).Cause, errBroken.Error())
}

func ids(list ...int32) []byte {
	var b []byte
	for _, id := range list {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	return b
}

// checkAnswers reads the accuracy log, requires one record per sample, and calls check with each record.
func checkAnswers(t *testing.T, j job, check func(*mllog.AccuracyEntry)) {
	t.Helper()
	have := map[int64]bool{}
	a, err := mllog.ReadAccuracyFile(accuracyLog(j.Dir), func(e *mllog.AccuracyEntry) error {
		have[e.QSLIdx] = true
		check(e)
		return nil
	})
	require.NoError(t, err)
	require.False(t, a.Truncated)
	require.Equal(t, samples, a.Records)
	require.Len(t, have, samples)
}

func TestSecondReportsNeverReachLoadGen(t *testing.T) {
	t.Parallel()
	j := with(server("twice"), func(j *job) { j.Dir = t.TempDir() })
	s := doIn(t, j)
	require.True(t, s.Returned)
	require.EqualValues(t, j.Queries, s.Counts.Completed)
	require.Zero(t, s.Counts.Failed)
	require.EqualValues(t, 3*j.Queries, s.Counts.Duplicates,
		"a second first token, a second completion and a first token after the end")
	logs, err := mllog.Summarize(j.Dir)
	require.NoError(t, err)
	require.Zero(t, logs.Errors, logs.ErrorTexts)
}

func TestReportsOfUnknownSamplesAreRefused(t *testing.T) {
	t.Parallel()
	s := do(t, server("unknown"))
	require.True(t, s.Returned)
	require.EqualValues(t, 300, s.Counts.Completed)
	require.EqualValues(t, 600, s.Counts.Unknown)
}

// A failed sample ends with an empty answer. If no first token was reported, an empty one precedes it; no token is
// invented.
func TestFailedSamplesAreEmpty(t *testing.T) {
	t.Parallel()
	j := with(server("fails"), func(j *job) { j.Dir, j.Mode = t.TempDir(), loadgen.AccuracyOnly })
	s := doIn(t, j)
	require.True(t, s.Returned)
	require.Equal(t, map[ledger.Reason]int64{"http_500": 22, "truncated": 21}, s.Reasons)
	require.EqualValues(t, 21, s.Counts.Completed)
	require.EqualValues(t, 42, s.Counts.FirstTokens)
	require.Equal(t, 22, s.Attempts)
	require.EqualValues(t, 3*21, s.Counts.OutputTokens, "failed samples count no tokens")
	checkAnswers(t, j, func(e *mllog.AccuracyEntry) {
		answered := e.SeqID%3 == 2
		switch {
		case answered:
			require.Equal(t, ids(int32(e.QSLIdx), 7, 2), e.Data)
			require.EqualValues(t, 3, e.TokenCount)
		default:
			require.Empty(t, e.Data)
			require.Zero(t, e.TokenCount)
		}
		if e.SeqID%3 == 0 {
			require.Empty(t, e.TokenData, "the server sent no token")
		} else {
			require.Equal(t, ids(int32(e.QSLIdx)), e.TokenData)
		}
	})
}

func TestFirstTokenRule(t *testing.T) {
	for _, c := range []struct {
		backend  string
		scenario loadgen.TestScenario
		failed   bool
	}{
		{"without first token", loadgen.Server, true},
		{"without first token", loadgen.SingleStream, true},
		{"without first token", loadgen.Offline, false},
		{"first token only written down", loadgen.Server, true},
		{"first token only written down", loadgen.Offline, false},
		{"first token only reported", loadgen.Server, false},
	} {
		t.Run(c.backend+" "+c.scenario.String(), func(t *testing.T) {
			t.Parallel()
			// In accuracy mode LoadGen crashes if a first token is missing.
			s := do(t, with(server(c.backend), func(j *job) { j.Scenario, j.Mode = c.scenario, loadgen.AccuracyOnly }))
			require.True(t, s.Returned)
			if c.failed {
				require.Equal(t, map[ledger.Reason]int64{"no_first_token": samples}, s.Reasons)
				return
			}
			require.Empty(t, s.Reasons)
			require.EqualValues(t, samples, s.Counts.Completed)
		})
	}
}

func TestTextAnswers(t *testing.T) {
	t.Parallel()
	j := with(server("text"), func(j *job) { j.Dir, j.Mode = t.TempDir(), loadgen.AccuracyOnly })
	require.True(t, doIn(t, j).Returned)
	checkAnswers(t, j, func(e *mllog.AccuracyEntry) {
		require.Equal(t, "grüße", string(e.Data))
		require.EqualValues(t, 2, e.TokenCount)
	})
}

// If answers are logged as text, an answer without a text must not be logged as ids: a scorer would read the ids as
// characters.
func TestEmptyText(t *testing.T) {
	t.Parallel()
	j := with(server("text that is empty"), func(j *job) { j.Dir, j.Mode = t.TempDir(), loadgen.AccuracyOnly })
	require.True(t, doIn(t, j).Returned)
	checkAnswers(t, j, func(e *mllog.AccuracyEntry) {
		require.Empty(t, e.Data)
		require.EqualValues(t, 2, e.TokenCount)
	})
}

func TestEmptyAnswersAreCounted(t *testing.T) {
	t.Parallel()
	s := do(t, server("empty"))
	require.True(t, s.Returned)
	require.EqualValues(t, 300, s.Counts.Empty)
}

func TestMaxErrors(t *testing.T) {
	t.Run("ends the test", func(t *testing.T) {
		t.Parallel()
		s := do(t, with(server("all fail"), func(j *job) { j.MaxErrors, j.Queries, j.QPS = 5, 100_000, 500 }))
		require.Equal(t, sut.ErrTooManyFailures.Error(), s.Cause)
		require.False(t, s.Returned, "LoadGen goes on with its schedule, and cannot be stopped")
		require.GreaterOrEqual(t, s.Counts.Failed, int64(6))
		require.EqualValues(t, 6, s.Reasons["connect"], "what came after the sixth failure was not sent")
	})
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		s := do(t, server("all fail"))
		require.True(t, s.Returned)
		require.Empty(t, s.Cause)
		require.Equal(t, map[ledger.Reason]int64{"connect": 300}, s.Reasons)
	})
}

func TestDrainWatchdog(t *testing.T) {
	t.Parallel()
	s := do(t, with(server("silent"), func(j *job) {
		j.Scenario, j.Drain, j.Grace = loadgen.Offline, 300*time.Millisecond,
			time.Minute
	}))
	require.Equal(t, sut.ErrDrain.Error(), s.Cause)
	require.True(t, s.Returned, "in Offline every sample is issued, so LoadGen returns")
	require.Equal(t, map[ledger.Reason]int64{"cancelled": 300}, s.Reasons)
}

// The watchdog must not end a test that only waits for its next query.
func TestDrainWatchdogIgnoresSlowSchedules(t *testing.T) {
	t.Parallel()
	s := do(t, with(server("good"), func(j *job) { j.Queries, j.QPS, j.Drain = 3, 1, 400*time.Millisecond }))
	require.True(t, s.Returned)
	require.Empty(t, s.Cause)
}

func TestCancel(t *testing.T) {
	for _, c := range []struct {
		scenario loadgen.TestScenario
		backend  string
		queries  int
		returns  bool
	}{
		{loadgen.Offline, "silent", 300, true},
		{loadgen.Offline, "late", 300, true},
		{loadgen.SingleStream, "silent", 3, true},
		{loadgen.Server, "silent", 100_000, false},
		{loadgen.Server, "late", 100_000, false},
	} {
		t.Run(c.scenario.String()+" "+c.backend, func(t *testing.T) {
			t.Parallel()
			s := do(t, with(server(c.backend), func(j *job) {
				j.Scenario, j.Queries, j.QPS, j.CancelAt = c.scenario, c.queries, 500, 300*time.Millisecond
				if c.returns {
					j.Grace = time.Minute // an idle machine needs only milliseconds
				}
			}))
			require.Equal(t, "the caller has had enough", s.Cause)
			require.Equal(t, c.returns, s.Returned)
			require.Positive(t, s.Counts.Failed)
			require.Zero(t, s.Counts.Completed, "an answer that comes after the end is late")
			if c.returns {
				require.Equal(t, s.Counts.Failed, s.Reasons["cancelled"])
			} else { // LoadGen may issue further samples after the counts were read and before the entries are read
				require.GreaterOrEqual(t, s.Reasons["cancelled"], s.Counts.Failed)
			}
			require.Len(t, s.Reasons, 1)
			if c.backend == "late" {
				require.GreaterOrEqual(t, s.Counts.Duplicates, s.Counts.Failed, "late first tokens and answers are refused")
			}
			if c.returns {
				require.Zero(t, s.Counts.InFlight())
			}
		})
	}
}

// If a backend stops serving, LoadGen would wait forever.
func TestBackendThatStops(t *testing.T) {
	for backend, want := range map[string]string{
		"quits":  "shard 0: the backend returned before the test had ended",
		"breaks": "shard 0: the scripted backend broke",
	} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			s := do(t, server(backend))
			require.Equal(t, want, s.Cause)
		})
	}
}

func TestSeveralShards(t *testing.T) {
	t.Parallel()
	s := do(t, with(server("good"), func(j *job) { j.Shards = 3 }))
	require.True(t, s.Returned)
	require.EqualValues(t, 300, s.Counts.Completed)
	require.Zero(t, s.Counts.Duplicates+s.Counts.Unknown)
}

func TestOptionsThatCannotBe(t *testing.T) {
	_, err := sut.New(sut.Options{Name: "none"})
	require.ErrorContains(t, err, "at least one shard")
	_, err = sut.New(sut.Options{Name: "a \"quoted\" name", Backends: []backends.Backend{scripts["good"]}})
	require.ErrorContains(t, err, "quote")
}
