package shard

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// The socket belongs to the group too, replaces one of an earlier run, and nothing else.
func TestSocketsOfShards(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	g, err := Listen(socket, nil, func() {})
	require.NoError(t, err)
	info, err := os.Stat(socket)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o660), info.Mode().Perm())
	require.NoError(t, g.Close())
	again, err := Listen(socket, nil, func() {})
	require.NoError(t, err)
	require.NoError(t, again.Close())
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "file"), nil, 0o600))
	_, err = Listen(folder, nil, func() {})
	require.ErrorContains(t, err, "the control socket of an earlier run")
	_, err = Listen(filepath.Join(folder, "none", "s"), nil, func() {})
	require.ErrorContains(t, err, "making the control socket")
	_, err = again.Wait(t.Context(), 0)
	require.ErrorContains(t, err, "the control socket was closed")
}

// A newer coordinator ends the connection of the one before it.
func TestANewerCoordinatorTakesOver(t *testing.T) {
	_, socket := listen(t, nil)
	first, second := connect(t, socket), connect(t, socket)
	n, err := first.In.Read(make([]byte, 1)) // it would wait forever
	require.Zero(t, n)
	require.ErrorIs(t, err, io.EOF)
	l := newLink(second.In, second.Out)
	require.NoError(t, l.send(&message{Clock: &clockMessage{Number: 3}}))
	m, err := l.receive()
	require.NoError(t, err)
	require.Equal(t, 3, m.Clock.Number)
	require.NotZero(t, m.Clock.NowNS)
}

// Nothing is sent to shards that have not started.
func TestStopBeforeTheStart(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	got := make(chan *message, 1)
	go func() {
		m, _ := newLink(there, there).receive()
		got <- m
	}()
	c := NewCoordinator([]Connection{{here, here}}, Options{})
	require.False(t, c.Stop())
	require.NoError(t, c.shards[0].send(&message{Clock: &clockMessage{Number: 8}}))
	require.NotNil(t, (<-got).Clock, "the first message")
}

// A stage starts after lead and four times the longest round trip, by the clock of each shard. Only the first stage
// begins the count.
func TestStartOfAStage(t *testing.T) {
	const ahead = int64(time.Hour)
	var links []*link
	var connections []Connection
	for range 2 {
		here, there := net.Pipe()
		defer here.Close()
		defer there.Close()
		links, connections = append(links, newLink(there, there)), append(connections, Connection{here, here})
	}
	c := NewCoordinator(connections, Options{Count: true})
	c.shards[0].offset = Offset{AheadNS: ahead, BoundNS: int64(time.Minute)}
	c.shards[1].offset = Offset{AheadNS: -ahead, BoundNS: int64(time.Second)}
	for stage := range 2 {
		before := time.Now().UnixNano()
		failed := make(chan error, 1)
		go func() { failed <- c.start(stage) }()
		first, err := links[0].receive()
		require.NoError(t, err)
		second, err := links[1].receive()
		require.NoError(t, err)
		require.NoError(t, <-failed)
		require.Equal(t, 2*ahead, first.Start.AtNS-second.Start.AtNS)
		wait := int64(lead + 8*time.Minute)
		at := first.Start.AtNS - ahead
		require.GreaterOrEqual(t, at, before+wait)
		require.LessOrEqual(t, at, time.Now().UnixNano()+wait)
		require.Equal(t, []any{stage, stage == 0}, []any{second.Start.Stage, second.Start.Count})
		if stage == 0 {
			require.Equal(t, at, c.started.UnixNano())
		} else {
			require.NotEqual(t, at, c.started.UnixNano(), "the start of the first stage counts")
		}
	}
}

// Of several round trips, the shortest counts.
func TestTheShortestRoundTrip(t *testing.T) {
	const slow = 400 * time.Millisecond
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	go func() {
		l := newLink(there, there)
		for {
			m, err := l.receive()
			if err != nil {
				return
			}
			if m.Clock.Number == exchanges-1 || m.Clock.Number == 0 {
				time.Sleep(slow)
			}
			_ = l.send(&message{Clock: &clockMessage{Number: m.Clock.Number - 1}}) // to an earlier question
			m.Clock.NowNS = time.Now().UnixNano()
			if l.send(m) != nil {
				return
			}
		}
	}()
	c := NewCoordinator([]Connection{{here, here}}, Options{})
	require.NoError(t, c.shards[0].measure(t.Context()))
	require.Less(t, c.shards[0].offset.BoundNS, int64(slow/2))
	require.Positive(t, c.shards[0].offset.BoundNS)
}

// The sum of all shards: each count, the latest stage, the seconds that all have counted, and whether all have ended.
func TestSumsOfProgress(t *testing.T) {
	var got Progress
	c := &Coordinator{shards: []*peer{{number: 0}, {number: 1}}, options: Options{Progress: func(p Progress) { got = p }}}
	second := &live.Second{Number: 4}
	c.add(c.shards[0], Progress{Stage: 2, Sent: 1, Ended: 2, Failed: 3, Output: 4, Counted: 9, Second: second})
	require.Equal(t, Progress{Stage: 2, Sent: 1, Ended: 2, Failed: 3, Output: 4, Second: second}, got,
		"before the start")
	c.started = time.Now().Add(-time.Minute)
	c.add(c.shards[1], Progress{Stage: 1, Sent: 10, Ended: 20, Failed: 30, Output: 40, Counted: 7, Last: true})
	require.InDelta(t, float64(time.Minute), float64(got.Elapsed), float64(30*time.Second))
	got.Elapsed = 0
	require.Equal(t, Progress{Stage: 2, Sent: 11, Ended: 22, Failed: 33, Output: 44, Counted: 9, Shard: 1}, got,
		"a shard that has ended does not hold the others up")
	c.add(c.shards[0], Progress{Stage: 3, Sent: 2, Counted: 8, Last: true})
	require.True(t, got.Last)
	require.Equal(t, []int{3, 12, 8}, []int{got.Stage, int(got.Sent), got.Counted})
	c.started = time.Now().Add(time.Hour)
	c.add(c.shards[0], Progress{})
	require.Zero(t, got.Elapsed, "before the instant of the start")
	for _, x := range []struct {
		counted [2]int
		last    [2]bool
		most    int
		want    int
	}{
		{[2]int{3, 5}, [2]bool{false, false}, 9, 3}, {[2]int{5, 3}, [2]bool{false, false}, 9, 3},
		{[2]int{3, 5}, [2]bool{true, false}, 9, 5}, {[2]int{3, 5}, [2]bool{true, true}, 9, 5},
		{[2]int{5, 3}, [2]bool{true, true}, 9, 5}, {[2]int{3, 5}, [2]bool{true, true}, 4, 4},
		{[2]int{3, 5}, [2]bool{false, false}, 2, 2}, {[2]int{3, 5}, [2]bool{false, true}, 9, 3},
		{[2]int{0, 0}, [2]bool{true, true}, 9, 0},
	} {
		for i := range 2 {
			c.shards[i].progress = Progress{Counted: x.counted[i], Last: x.last[i]}
		}
		require.Equal(t, x.want, c.counted(x.last[0] && x.last[1], x.most), "%+v", x)
	}
}

// A page shows the sums as they are, the rate since the start, and what remains, which is never negative.
func TestFiguresOfAPage(t *testing.T) {
	p := &Page{Requests: 50, Expected: 9 * time.Second}
	now := time.Now()
	for _, c := range []struct {
		after            time.Duration // since the first sum
		sum              Progress
		inFlight         int64
		rate             float64
		left             time.Duration
		ttft, tpot       int64 // of one more answer
		ttftP99, tpotP99 time.Duration
	}{
		{0, Progress{Elapsed: 4 * time.Second, Sent: 30, Ended: 20, Failed: 3}, 10, 5, 5 * time.Second, 0, 0, 0, 0},
		{time.Second, Progress{Elapsed: 5 * time.Second, Sent: 30, Ended: 31}, 0, 6.2, 4 * time.Second, 64, 8, 64, 8},
		{6 * time.Second, Progress{Elapsed: 10 * time.Second, Sent: 50, Ended: 50}, 0, 5, 0, 96, 12, 96, 12},
	} {
		if c.ttft > 0 {
			ttft, tpot := new(ledger.Batch), new(ledger.Batch)
			ttft.Record(c.ttft)
			tpot.Record(c.tpot)
			for range 2 { // counts stay as they are, since the page's server reads them too
				var to ledger.Histogram
				merge(&to, ttft)
				require.EqualValues(t, 1, to.Count())
			}
			merge(&p.ttft, ttft)
			merge(&p.tpot, tpot)
			merge(&p.tpot, nil)
		}
		require.Equal(t, run.Progress{Elapsed: c.sum.Elapsed, Total: 50, Issued: c.sum.Sent, Done: c.sum.Ended,
			Failed: c.sum.Failed, InFlight: c.inFlight, RatePerS: c.rate, TTFTp99: c.ttftP99, TPOTp99: c.tpotP99, Left: c.left},
			p.progress(now.Add(c.after), c.sum))
	}
}

// The header of a merged log: the earliest start by the coordinator's clock, and a rehearsal if any shard's run
// was one.
func TestMergedHeader(t *testing.T) {
	log := func(start int64, rehearsal string, requests ...eventlog.Request) string {
		path := filepath.Join(t.TempDir(), eventlog.FileName)
		w, err := eventlog.Create(path, eventlog.Header{ID: "x", StartNS: start, Model: "m", Rehearsal: rehearsal})
		require.NoError(t, err)
		for i := range requests {
			require.NoError(t, w.Add(&requests[i]))
		}
		require.NoError(t, w.Close(eventlog.End{Complete: true}))
		return path
	}
	one := request(1, 9_000_000)
	for name, c := range map[string]struct {
		logs []Log
		want eventlog.Header
	}{
		"first":  {[]Log{{Path: log(10, "", one)}, {Path: log(20, "", one)}}, eventlog.Header{StartNS: 10}},
		"second": {[]Log{{Path: log(30, "", one)}, {Path: log(20, "", one)}}, eventlog.Header{StartNS: 20}},
		"offset": {[]Log{{Path: log(30, "", one), Offset: Offset{AheadNS: 25}}, {Path: log(20, "", one)}},
			eventlog.Header{StartNS: 5}},
		"other offset": {[]Log{{Path: log(30, "", one)}, {Path: log(20, "", one), Offset: Offset{AheadNS: -25}}},
			eventlog.Header{StartNS: 30}},
		"rehearsal": {[]Log{{Path: log(1, "a", one)}, {Path: log(1, "", one)}},
			eventlog.Header{StartNS: 1, Rehearsal: "a"}},
		"rehearsal 2": {[]Log{{Path: log(1, "", one)}, {Path: log(1, "b", one)}},
			eventlog.Header{StartNS: 1, Rehearsal: "b"}},
		"idle": {[]Log{{Path: log(1, "")}, {Path: log(7, "", one)}}, eventlog.Header{StartNS: 7}},
	} {
		got, err := mergedHeader(c.logs)
		require.NoError(t, err, name)
		c.want.ID, c.want.Model, c.want.Schema = "x", "m", eventlog.Schema
		require.Equal(t, c.want, *got, name)
	}
	_, err := Merge([]Log{{Path: filepath.Join(t.TempDir(), "absent")}}, filepath.Join(t.TempDir(), "merged"), nil)
	require.ErrorContains(t, err, "shard 0: ")
	require.ErrorIs(t, err, os.ErrNotExist)
	cut := log(1, "")
	data, err := os.ReadFile(cut)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cut, data[:len(data)-1], 0o600))
	_, err = Merge([]Log{{Path: log(1, "", one)}, {Path: cut}}, filepath.Join(t.TempDir(), "merged"), nil)
	require.ErrorContains(t, err, "has no request and no end")
	_, err = Merge([]Log{{Path: log(1, "", one)}}, cut, nil)
	require.ErrorIs(t, err, os.ErrExist)
}

// The log of a shard that was killed has requests and no end: they are merged, and the merged log is incomplete.
func TestMergeOfAKilledShard(t *testing.T) {
	whole := eventlog.End{Complete: true}
	var requests []eventlog.Request
	for i := range 20_000 {
		requests = append(requests, request(2*i, 5_000_000+int64(i*i%1009)))
	}
	killed := write(t, whole, "m", requests...)
	data, err := os.ReadFile(killed)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(killed, data[:len(data)-1], 0o600))
	for _, logs := range [][]Log{{{Path: killed}, {Path: write(t, whole, "m", request(1, 5_000_000))}},
		{{Path: write(t, whole, "m", request(1, 5_000_000))}, {Path: killed}}} {
		merged := 0
		end, err := Merge(logs, filepath.Join(t.TempDir(), "merged"), func(*eventlog.Request) { merged++ })
		require.NoError(t, err)
		require.False(t, end.Complete)
		require.Contains(t, end.Cause, "did not come to its end")
		require.Greater(t, merged, 1)
	}
}

// Numbers of requests at the edges of the set and of its words.
func TestNumbers(t *testing.T) {
	var n numbers
	for _, number := range []int{0, 63, 64, 1, 127, 128, 65, 200} {
		require.NoError(t, n.add(number))
		require.ErrorContains(t, n.add(number), "in the log of another shard too")
	}
	require.Len(t, n, 4, "no longer than needed")
	require.ErrorContains(t, n.add(-1), "out of range")
	require.ErrorContains(t, n.add(mostNumber), "out of range")
	require.NoError(t, n.add(mostNumber-1))
}

// A shard that is lost before its clock is read, while it is read, or before its start is sent, ends the run.
func TestShardsThatAreLost(t *testing.T) {
	for _, answers := range []int{0, 1, exchanges - 1, exchanges} {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			l, stage := newLink(there, there), 0
			_ = l.send(&message{Ready: &stage})
			for range answers {
				m, err := l.receive()
				if err != nil {
					return
				}
				m.Clock.NowNS = 1
				_ = l.send(m)
			}
		}()
		err := NewCoordinator([]Connection{{here, here}}, Options{}).Run(t.Context(), 1)
		require.ErrorContains(t, err, "shard 0: ", "after %d answers", answers)
		require.NoError(t, here.Close())
	}
}
