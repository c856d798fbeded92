package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const base = int64(1_700_000_000_000_000_000)

// answer is a completion of n tokens, the first at firstNS and done at doneNS after base.
func answer(n int, firstNS, doneNS int64) *Completion {
	return &Completion{
		Source: "ids", FinishReason: "stop", InputTokens: 10, OutputTokens: n, SentNS: base + 1, FirstByteNS: base + firstNS,
		FirstTokenNS: base + firstNS, LastTokenNS: base + doneNS, DoneNS: base + doneNS,
	}
}

func TestLifeOfASample(t *testing.T) {
	l := New(2, 0)
	a, b := l.Shard(0), l.Shard(1)
	require.True(t, a.Issue(0, 7, base))
	require.Equal(t, []Entry{{Seq: 0, Index: 7, IssuedNS: base}}, l.Entries())
	require.EqualValues(t, 1, l.Counts().InFlight())
	require.True(t, b.FirstToken(0, base+5))
	require.Equal(t, base+5, l.Entries()[0].FirstTokenNS)
	b.Gap(3, 2)
	require.True(t, b.Complete(0, &Completion{
		Source: "usage", Endpoint: 1, Retries: 2, InputTokens: 4, OutputTokens: 3,
		DequeuedNS: base + 1, SentNS: base + 2, FirstByteNS: base + 4, FirstTokenNS: base + 999, LastTokenNS: base + 9,
		DoneNS: base + 10,
	}))
	got := l.Entries()[0]
	require.Empty(t, cmp.Diff(Entry{
		Seq: 0, Index: 7, Endpoint: 1, Retries: 2, Source: 1, InputTokens: 4, OutputTokens: 3, IssuedNS: base,
		DequeuedNS: base + 1,
		SentNS:     base + 2, FirstByteNS: base + 4, FirstTokenNS: base + 5, LastTokenNS: base + 9, DoneNS: base + 10,
	}, got))
	require.True(t, got.Succeeded())
	require.Equal(t, TokensFromUsage, l.Names().Source(&got))
	require.Equal(t, Counts{Issued: 1, Completed: 1, FirstTokens: 1, Retried: 1, InputTokens: 4, OutputTokens: 3},
		l.Counts())
	require.EqualValues(t, 5, l.TTFT().Max())
	require.EqualValues(t, 2, l.ITL().Count())
}

func TestExactlyOnce(t *testing.T) {
	l := New(1, 0)
	s := l.Shard(0)
	require.False(t, s.Complete(0, answer(1, 1, 2)), "never issued")
	require.False(t, s.FirstToken(3, base), "never issued")
	require.False(t, s.Issue(-1, 0, base), "no sequence number")
	require.False(t, s.Issue(math.MaxInt32, 0, base), "outside of the ledger")
	require.True(t, s.Issue(0, 0, base))
	require.False(t, s.Issue(0, 0, base), "issued before")
	require.False(t, s.Complete(1, answer(1, 1, 2)), "never issued, chunk stands")
	require.EqualValues(t, 6, l.Counts().Unknown)

	require.True(t, s.FirstToken(0, base))
	require.False(t, s.FirstToken(0, base), "second first token")
	require.True(t, s.Complete(0, answer(2, 1, 2)))
	require.False(t, s.Complete(0, &Completion{Reason: "reset"}), "second completion")
	require.False(t, s.FirstToken(0, base), "after completion")
	c := l.Counts()
	require.EqualValues(t, 3, c.Duplicates)
	require.EqualValues(t, 1, c.Completed)
	require.Zero(t, c.Failed)
	require.True(t, l.Entries()[0].Succeeded())
}

// Several samples are published together; nothing of them is seen before, and nothing is accepted twice.
func TestSamplesTogether(t *testing.T) {
	l := New(1, 0)
	s := l.Shard(0)
	s.Issue(9, 9, base)
	for seq := range 3 {
		require.True(t, s.Enter(seq, seq, base+int64(seq)))
		require.False(t, l.Issued(seq))
		require.False(t, s.Hold(seq, answer(1, 1, 2)), "not announced")
	}
	require.EqualValues(t, 1, l.Counts().Issued)
	s.Announce()
	require.EqualValues(t, 4, l.Counts().Issued)
	require.Len(t, l.Entries(), 4)
	require.True(t, s.FirstToken(1, base+7))

	require.True(t, s.Hold(0, &Completion{OutputTokens: 5, InputTokens: 2, FirstTokenNS: base + 6, DoneNS: base + 1}))
	require.True(t, s.Hold(1, &Completion{Reason: FailCancelled, Retries: 1}))
	require.Equal(t, 2, s.Held())
	require.False(t, s.Hold(0, answer(1, 1, 2)), "held already")
	require.False(t, s.FirstToken(0, base+8), "held already")
	require.False(t, s.HasFirstToken(1), "held already")
	before := l.Entries()
	require.Equal(t, Entry{Seq: 0, Index: 0, IssuedNS: base}, before[0])
	require.Equal(t, Entry{Seq: 1, Index: 1, IssuedNS: base + 1, FirstTokenNS: base + 7}, before[1])
	require.Nil(t, l.Ended(0))
	require.EqualValues(t, 4, l.Counts().InFlight())

	s.Release(base + 50)
	require.Zero(t, s.Held())
	after := l.Entries()
	require.Equal(t, Entry{Seq: 0, InputTokens: 2, OutputTokens: 5, IssuedNS: base, FirstTokenNS: base + 6,
		DoneNS: base + 50}, after[0])
	require.Equal(t, base+50, after[1].DoneNS)
	require.Equal(t, Counts{Issued: 4, Completed: 1, Failed: 1, Cancelled: 1, FirstTokens: 1, Retried: 1,
		Duplicates: 2, Unknown: 3, InputTokens: 2, OutputTokens: 5}, l.Counts())
	s.Release(base + 99)
	require.Equal(t, base+50, l.Entries()[0].DoneNS, "an empty release changes nothing")
}

func TestFailures(t *testing.T) {
	l := New(1, 0)
	s := l.Shard(0)
	for i := range 10 {
		require.True(t, s.Issue(i, i, base))
		c := answer(0, 0, 5)
		if i < 3 {
			c.Reason = "reset"
		} else if i < 5 {
			c.Reason = "http_503"
		}
		require.True(t, s.Complete(i, c))
	}
	c := l.Counts()
	require.EqualValues(t, 5, c.Failed)
	require.EqualValues(t, 5, c.Completed)
	require.Zero(t, c.Cancelled)
	require.EqualValues(t, 5, c.Empty, "failed samples are not empty ones")
	require.InDelta(t, .5, c.FailureRate(), 0)
	require.Zero(t, c.InFlight())
	require.Equal(t, map[Reason]int64{"reset": 3, "http_503": 2}, failedBy(l))
	cancelled := answer(0, 0, 5)
	cancelled.Reason = FailCancelled
	require.True(t, s.Issue(10, 10, base))
	require.True(t, s.Complete(10, cancelled))
	require.Equal(t, []int64{6, 1}, []int64{l.Counts().Failed, l.Counts().Cancelled})
	require.Zero(t, New(1, 0).Counts().FailureRate())
}

// failedBy counts the failed samples of a ledger by their reasons.
func failedBy(l *Ledger) map[Reason]int64 {
	by, names := map[Reason]int64{}, l.Names()
	for _, e := range l.Entries() {
		if reason := names.Reason(&e); reason != "" {
			by[reason]++
		}
	}
	return by
}

func TestHostileServerCannotExhaustFinishReasons(t *testing.T) {
	l := New(1, 0)
	for i := range 1000 {
		l.Shard(0).Issue(i, 0, base)
		l.Shard(0).Complete(i, &Completion{Reason: Reason(fmt.Sprint("http_", i)), DoneNS: base})
	}
	by := failedBy(l)
	require.Len(t, by, 255)
	require.EqualValues(t, 1, by["http_0"])
	require.EqualValues(t, 1000-254, by["other"])
}

func TestShardsAndReadersAtTheSameTime(t *testing.T) {
	const shards, each = 4, 3 * chunkSize
	l := New(shards, 0)
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if c := l.Counts(); c.InFlight() < 0 {
				t.Error("more ended than issued")
			}
			for _, e := range l.Entries() {
				if e.IssuedNS == 0 || (e.DoneNS != 0 && e.OutputTokens != e.Index) {
					t.Errorf("half an entry: %+v", e)
				}
			}
			l.TTFT().Quantile(.99)
		}
	})
	for i := range shards {
		writers.Go(func() {
			s := l.Shard(i)
			for seq := i; seq < shards*each; seq += shards {
				s.Issue(seq, seq%9+1, base)
				s.FirstToken(seq, base+1)
				s.Gap(5, 3)
				s.Complete(seq, answer(seq%9+1, 1, 2))
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	c := l.Counts()
	require.EqualValues(t, shards*each, c.Issued)
	require.EqualValues(t, shards*each, c.Completed)
	require.EqualValues(t, shards*each*3, l.ITL().Count())
	entries := l.Entries()
	for i := range entries {
		require.EqualValues(t, i, entries[i].Seq)
	}
}

func TestRequestsFileRebuildsTheFigures(t *testing.T) {
	for _, origin := range []Origin{FromSchedule, FromIssue, FromStart} {
		for _, name := range []string{"requests.jsonl.zst", "requests.jsonl.gz", "requests.jsonl"} {
			test := randomTest(origin)
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, WriteRequests(atomicfile.Private, path, test))
			again, err := ReadRequests(path)
			require.NoError(t, err)
			require.Len(t, again.Entries, len(test.Entries))
			want, got := test.Metrics(), again.Metrics()
			require.EqualValues(t, replayStartNS, got.FirstIssueNS)
			got.LastDoneNS += want.FirstIssueNS - got.FirstIssueNS
			got.FirstIssueNS = want.FirstIssueNS
			require.Equal(t, want, got)
			for i := range test.Entries {
				require.Equal(t, test.Names.Reason(&test.Entries[i]), again.Names.Reason(&again.Entries[i]))
				require.Equal(t, test.Names.Finish(&test.Entries[i]), again.Names.Finish(&again.Entries[i]))
				require.Equal(t, test.Names.Source(&test.Entries[i]), again.Names.Source(&again.Entries[i]))
			}
		}
	}
}

func randomTest(origin Origin) *Test {
	l := New(1, 0)
	schedule := make([]int64, 300)
	for i := range schedule {
		schedule[i] = int64(i) * 1000
		at := base + schedule[i] + int64(i%7)
		l.Shard(0).Issue(i, i%11, at)
		c := &Completion{
			Source: "ids", FinishReason: []string{"stop", "length", ""}[i%3], Endpoint: i % 2,
			InputTokens: i, OutputTokens: i % 5, DequeuedNS: at + 1, SentNS: at + 3,
			FirstByteNS:  at + 50,
			FirstTokenNS: at + 60, LastTokenNS: at + 100 + int64(i*i), DoneNS: at + 110 + int64(i*i),
		}
		switch {
		case i%10 == 0:
			c.Reason, c.FirstTokenNS, c.LastTokenNS = "timeout_request", 0, 0
		case i%17 == 0:
			continue // never ended
		}
		l.Shard(0).Complete(i, c)
	}
	entries := l.Entries()
	return &Test{Entries: entries, Names: l.Names(), Schedule: schedule, T0NS: EstimateStart(entries, schedule),
		Origin: origin}
}

func TestRequestLine(t *testing.T) {
	test := randomTest(FromSchedule)
	line := newRequestWriter(test).append(nil, &test.Entries[10])
	require.JSONEq(t, `{"seq":10,"index":10,"scheduled":10000,"issued":10003,"dequeued":10004,"sent":10006,"first_byte":10053,
		"done":10213,"input_tokens":10,"output_tokens":0,"endpoint":0,"retries":0,"finish":"length","source":"ids",
		"reason":"timeout_request"}`, string(line))
}

func TestReadRequestsNamesTheLine(t *testing.T) {
	const good = `{"seq":0,"scheduled":0,"issued":5}` + "\n"
	for text, want := range map[string]string{
		good + "{":                       "line 2: unexpected end",
		good + `{"seq":1,"scheduled":0}`: "line 2: seq, scheduled and issued are needed",
		good + good:                      "line 2: seq does not follow",
		good + `{"seq":2000000000,"scheduled":0,"issued":5}`:          "line 2: seq does not follow",
		good + `{"seq":1,"scheduled":0,"issued":9223372036854775807}`: "no time may be below",
		good + `{"seq":1,"scheduled":0,"issued":31622400000000001}`:   "line 2: seq, scheduled and issued are needed", // 366 days
		good + `{"seq":1,"scheduled":-86400000000000,"issued":0}`:     "line 2: seq, scheduled and issued are needed",
	} {
		path := filepath.Join(t.TempDir(), "requests.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		before, err := ReadRequests(path)
		require.ErrorContains(t, err, want, text)
		require.Len(t, before.Entries, strings.Count(text, good)-strings.Count(text, good+good), "those before the damage")
		require.ErrorContains(t, err, path)
	}
}

// A requests file may contain times from one day before the first issue to one year after it.
func TestTheLongestTimesOfARequestsFile(t *testing.T) {
	const day = 24 * 3600 * 1_000_000_000
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	line := fmt.Sprintf(`{"seq":0,"scheduled":%d,"issued":0,"done":%d}`, 1-day, 366*day)
	require.NoError(t, os.WriteFile(path, []byte(line), 0o644))
	test, err := ReadRequests(path)
	require.NoError(t, err)
	require.InDelta(t, 367*86400, test.Metrics().E2E.Max, 1e-6, "seconds from schedule to end")
}

// Readers of a running test see a sample as ended only after its entry is completely written.
func TestFollowASample(t *testing.T) {
	l := New(1, 0)
	s := l.Shard(0)
	check := func(when string, seq int, isIssued, hasEnded bool) {
		t.Helper()
		_, ok := l.Entry(seq)
		require.Equal(t, isIssued, ok, when)
		require.Equal(t, isIssued, l.Issued(seq), when)
		require.Equal(t, hasEnded, l.Ended(seq) != nil, when)
	}
	check("in a chunk that does not exist", chunkSize, false, false)
	s.Issue(0, 1, base)
	check("the first of all", 0, true, false)
	s.Issue(chunkSize, 1, base)
	check("issued", chunkSize, true, false)
	check("the one before it", chunkSize-1, false, false)
	check("the next one", chunkSize+1, false, false)
	check("before the first", -1, false, false)
	check("behind the last chunk", maxChunks*chunkSize, false, false)

	s.Enter(chunkSize+2, 1, base)
	check("while it is issued", chunkSize+2, false, false)
	s.Announce()
	check("after that", chunkSize+2, true, false)
	s.FirstToken(chunkSize, base+5)
	require.True(t, s.HasFirstToken(chunkSize))
	check("after its first token", chunkSize, true, false)
	s.Complete(chunkSize, answer(3, 5, 9))
	check("ended", chunkSize, true, true)
	require.False(t, s.HasFirstToken(chunkSize))
	e, _ := l.Entry(chunkSize)
	require.Equal(t, base+9, e.DoneNS)
	require.Equal(t, e, *l.Ended(chunkSize))
	require.False(t, s.Issue(maxChunks*chunkSize, 1, base), "behind the last chunk")
	require.EqualValues(t, 1, l.Counts().Unknown)
}

func TestARequestsFileThatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	_, err := ReadRequests(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorIs(t, EachAnswer(path, func(Answer) {}), os.ErrNotExist)
}

// Servers choose the finish reasons, so their number and length are bounded and the file must stay valid JSON.
func TestFinishReasonsAreBounded(t *testing.T) {
	l := New(1, 0)
	words := []string{"stop", "\xff\"\n", strings.Repeat("long", 1000)}
	for i := range 100 {
		word := fmt.Sprint("word ", i)
		if i < len(words) {
			word = words[i]
		}
		l.Shard(0).Issue(i, i, base)
		l.Shard(0).Complete(i, &Completion{Source: "ids", OutputTokens: 1, FinishReason: word, DoneNS: base + 1})
	}
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	entries := l.Entries()
	require.NoError(t, WriteRequests(atomicfile.Private, path, &Test{Entries: entries, Names: l.Names(), T0NS: base}))
	found := map[string]int{}
	require.NoError(t, EachAnswer(path, func(a Answer) {
		require.True(t, a.Ended)
		found[a.Finish]++
	}))
	require.Len(t, found, 15)
	require.Equal(t, 1, found["stop"])
	require.Equal(t, 1, found["\ufffd\"\n"])
	require.Equal(t, 1, found[strings.Repeat("long", 10)])
	require.Equal(t, 86, found["other"])
}

func FuzzEachAnswer(f *testing.F) {
	f.Add([]byte(`{"seq":0,"scheduled":0,"issued":5,"done":7,"output_tokens":2,"finish":"stop"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = eachAnswer(bytes.NewReader(data), func(a Answer) {
			if a.InputTokens < 0 || a.OutputTokens < 0 {
				t.Fatal(a)
			}
		})
	})
}

func FuzzReadRequests(f *testing.F) {
	f.Add([]byte(`{"seq":0,"scheduled":0,"issued":5,"done":7,"output_tokens":2,"first_token":6}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if test, err := readRequests(bytes.NewReader(data)); err == nil {
			if _, err := json.Marshal(test.Metrics()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestHistogramIsWithinItsError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 1<<62), 1, 200).Draw(t, "values")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		half := len(values) / 2
		var h, other Histogram
		var batch Batch
		for i, v := range values {
			switch {
			case i >= half:
				other.Record(v)
			case i%2 == 0:
				h.Record(v)
			default:
				batch.Record(v)
			}
		}
		h.Merge(&other)
		for range 2 { // the second round has an empty batch
			batch.MoveTo(&h)
		}
		s := make([]float64, len(values))
		for i, v := range values {
			s[i] = float64(v)
		}
		slices.Sort(s)
		want, got := s[percentileIndex(len(s), p)], float64(h.Quantile(p))
		if math.Abs(got-want) > .008*want {
			t.Fatalf("quantile %g is %g, want %g", p, got, want)
		}
		if h.Count() != int64(len(values)) || float64(h.Max()) != s[len(s)-1] {
			t.Fatalf("count %d, max %d", h.Count(), h.Max())
		}
	})
}

func TestHistogramOfTokens(t *testing.T) {
	var h Histogram
	require.Nil(t, h.Stats())
	require.Zero(t, h.Quantile(.5))
	h.RecordN(1000, 4)
	h.RecordN(1000, 0)
	h.Record(-5)
	require.EqualValues(t, 5, h.Count())
	require.InDelta(t, 200, h.Mean(), 0)
	require.EqualValues(t, 0, h.Quantile(.5))
	require.EqualValues(t, 1000, h.Quantile(1))
	require.InDelta(t, 1e-6, h.Stats().Max, 1e-18)
	h.Record(math.MaxInt64)
	require.EqualValues(t, math.MaxInt64, h.Max())
}

func TestSourcesAreJoined(t *testing.T) {
	both := JoinSources([]TokenSource{TokensFromIDs, TokensFromUsage})
	require.Equal(t, TokenSource("ids+usage"), both)
	require.Equal(t, TokensFromIDs, JoinSources([]TokenSource{TokensFromIDs}))
	require.Empty(t, JoinSources(nil))
	for source, want := range map[TokenSource]bool{TokensFromIDs: true, TokensFromUsage: true, TokensFromTokenizer: false,
		"id": false} {
		require.Equal(t, want, both.Includes(source), source)
	}
}

// TestEntriesWithoutACopy: entries are the ledger's own only if all samples have ended and their memory is one piece.
func TestEntriesWithoutACopy(t *testing.T) {
	const n = 2*chunkSize + 5
	shares := func(expected, ended int) bool {
		l := New(1, expected)
		s := l.Shard(0)
		for seq := range n {
			require.True(t, s.Issue(seq, seq, base))
			if seq < ended {
				require.True(t, s.Complete(seq, answer(1, 1, 2)))
			}
		}
		entries := l.Entries()
		require.Len(t, entries, n)
		for seq := range entries {
			require.EqualValues(t, seq, entries[seq].Seq)
			require.Equal(t, seq < ended, entries[seq].DoneNS != 0)
		}
		_, own := l.slot(n - 1)
		return own == &entries[n-1]
	}
	require.True(t, shares(n, n))
	require.True(t, shares(3*chunkSize, n))
	require.False(t, shares(n, n-1), "one sample is open")
	require.False(t, shares(chunkSize, n), "more samples than expected")
	require.False(t, shares(0, n))
}
