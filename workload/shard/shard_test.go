package shard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T, live func() Progress) (*Gate, string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	g, err := Listen(socket, live, func() {})
	require.NoError(t, err)
	t.Cleanup(func() { g.Close() })
	return g, socket
}

func connect(t *testing.T, socket string) Connection {
	t.Helper()
	c, err := net.Dial("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return Connection{c, c}
}

// TestStages starts two stages of three shards: all get the same future instant.
func TestStages(t *testing.T) {
	const shards, stages = 3, 2
	var connections []Connection
	starts := make([]chan int64, shards)
	for i := range shards {
		g, socket := listen(t, func() Progress { return Progress{Stage: 1, Sent: 10, Failed: int64(i)} })
		connections = append(connections, connect(t, socket))
		starts[i] = make(chan int64, stages)
		go func() {
			defer close(starts[i])
			for stage := range stages {
				time.Sleep(time.Duration(i) * 20 * time.Millisecond) // shards are ready at different times
				at, err := g.Wait(t.Context(), stage)
				if err != nil || time.Now().UnixNano() > at {
					return
				}
				starts[i] <- at
				time.Sleep(time.Until(time.Unix(0, at)))
			}
		}()
	}
	progress := make(chan Progress, 100)
	c := NewCoordinator(connections, Options{Progress: func(p Progress) { progress <- p }})
	require.NoError(t, c.Run(t.Context(), stages))
	bound := int64(Bound(c.Offsets()))
	require.Less(t, bound, int64(time.Second))
	for range stages {
		first := <-starts[0]
		require.NotZero(t, first)
		for _, other := range starts[1:] {
			at := <-other
			require.NotZero(t, at)
			// one clock: what differs is the error of the measured offsets, which the bound covers
			require.LessOrEqual(t, max(at-first, first-at), bound)
		}
	}
	require.Eventually(t, func() bool { return (<-progress).Sent == 10*shards }, 10*time.Second, time.Millisecond)
}

// TestOffset measures a clock that is wrong by a second.
func TestOffset(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		l := newLink(there, there)
		for {
			m, err := l.receive()
			if err != nil {
				return
			}
			m.Clock.NowNS = time.Now().Add(time.Second).UnixNano()
			if l.send(m) != nil {
				return
			}
		}
	}()
	c := NewCoordinator([]Connection{{here, here}}, Options{})
	require.NoError(t, c.shards[0].measure(t.Context()))
	o := c.Offsets()[0]
	require.InDelta(t, float64(time.Second), float64(o.AheadNS), float64(o.BoundNS)+1)
}

func TestBound(t *testing.T) {
	for want, bounds := range map[time.Duration][]int64{0: nil, 4: {4}, 9: {4, 1, 5}, 10: {5, 5}} {
		var offsets []Offset
		for _, b := range bounds {
			offsets = append(offsets, Offset{BoundNS: b})
		}
		require.Equal(t, want, Bound(offsets))
	}
}

// TestClockThatEnds loses a shard between two questions about its clock.
func TestClockThatEnds(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		l := newLink(there, there)
		if m, err := l.receive(); err == nil {
			m.Clock.NowNS = 1
			_ = l.send(m)
		}
		_, _ = l.receive()
	}()
	c := NewCoordinator([]Connection{{here, here}}, Options{})
	require.Error(t, c.shards[0].measure(t.Context()))
	require.Zero(t, c.Offsets()[0])
}

// TestLostShard names the shard whose connection ends, that sends junk, or that never becomes ready.
func TestLostShard(t *testing.T) {
	for name, c := range map[string]struct {
		behave func(net.Conn)
		want   string
	}{
		"gone": {func(c net.Conn) { c.Close() }, "shard 1: the connection to it ended before stage 0"},
		"junk": {func(c net.Conn) { fmt.Fprintln(c, "hello") },
			"shard 1: the connection to it ended before stage 0: an unexpected line"},
		"long": {func(c net.Conn) { c.Write(make([]byte, 2*maxLine)); c.Close() },
			"shard 1: the connection to it ended before stage 0: " + bufio.ErrTooLong.Error()},
		"still": {func(net.Conn) {}, "shard 1: " + context.DeadlineExceeded.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			g, socket := listen(t, nil)
			waited := make(chan error, 1)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			go func() {
				_, err := g.Wait(ctx, 0)
				waited <- err
			}()
			here, there := net.Pipe()
			defer here.Close()
			defer there.Close()
			go c.behave(there)
			err := NewCoordinator([]Connection{connect(t, socket), {here, here}}, Options{}).Run(ctx, 1)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "shard 0")
			require.Error(t, <-waited)
		})
	}
}

// TestReconnect accepts a second coordinator after the first one was lost.
func TestReconnect(t *testing.T) {
	g, socket := listen(t, nil)
	started := make(chan int64, 1)
	go func() {
		at, _ := g.Wait(t.Context(), 0)
		started <- at
	}()
	first, err := net.Dial("unix", socket)
	require.NoError(t, err)
	_, err = bufio.NewReader(first).ReadString('\n') // it is ready
	require.NoError(t, err)
	first.Close()
	require.NoError(t, NewCoordinator([]Connection{connect(t, socket)}, Options{}).Run(t.Context(), 1))
	require.NotZero(t, <-started)
}

func write(t *testing.T, end eventlog.End, model string, requests ...eventlog.Request) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), eventlog.FileName)
	w, err := eventlog.Create(path, eventlog.Header{ID: "x", StartNS: 1_000_000, Model: model})
	require.NoError(t, err)
	for i := range requests {
		require.NoError(t, w.Add(&requests[i]))
	}
	require.NoError(t, w.Close(end))
	return path
}

func request(seq int, at int64) eventlog.Request {
	return eventlog.Request{Seq: seq, DueNS: at, SentNS: at + 1, FirstByteNS: at + 2, EndNS: at + 9,
		Events: []eventlog.Event{{AtNS: at + 3, Tokens: 1}, {AtNS: at + 5, Tokens: 2}}, OutputTokens: 3}
}

func TestMerge(t *testing.T) {
	ignore := func(*eventlog.Request) {}
	whole := eventlog.End{Complete: true}
	a := write(t, whole, "m", request(0, 5_000_000), request(2, 7_000_000))
	b := write(t, whole, "m", request(1, 6_000_500)) // its clock is 500 ns ahead
	none := write(t, whole, "m")
	path := filepath.Join(t.TempDir(), "merged")
	written := 0
	count := func(*eventlog.Request) { written++ }
	end, err := Merge([]Log{{Path: a}, {b, Offset{AheadNS: 500}}, {Path: none}}, path, count)
	require.NoError(t, err)
	require.True(t, end.Complete)
	require.Equal(t, 3, written)
	got := map[int]eventlog.Request{}
	last, err := eventlog.Read(path, func(_ *eventlog.Header, r *eventlog.Request) error {
		copied := *r
		copied.Events = append([]eventlog.Event(nil), r.Events...)
		got[r.Seq] = copied
		return nil
	})
	require.NoError(t, err)
	require.EqualValues(t, 3, last.Requests)
	require.Equal(t, map[int]eventlog.Request{0: request(0, 5_000_000), 1: request(1, 6_000_000), 2: request(2,
		7_000_000)}, got)

	cut := write(t, eventlog.End{Cause: "a signal"}, "m", request(3, 1_500_000))
	end, err = Merge([]Log{{Path: a}, {Path: cut}}, filepath.Join(t.TempDir(), "merged"), ignore)
	require.NoError(t, err)
	require.False(t, end.Complete)
	require.Contains(t, end.Cause, "shard 1")

	idle := write(t, eventlog.End{Cause: "a signal"}, "m")
	end, err = Merge([]Log{{Path: a}, {Path: idle}}, filepath.Join(t.TempDir(), "merged"), ignore)
	require.NoError(t, err)
	require.False(t, end.Complete, "a shard was stopped before its first request")

	for want, logs := range map[string][]Log{
		"shard 1: the event log":                       {{Path: a}, {Path: a}},
		"request 0 is in the log of another shard":     {{Path: a}, {Path: a}},
		`shard 1 measured the model "other"`:           {{Path: a}, {Path: write(t, whole, "other", request(9, 2_000_000))}},
		"no such file":                                 {{Path: a}, {Path: filepath.Join(t.TempDir(), "absent")}},
		"no shard has sent a request":                  {{Path: none}},
		"the number of request 2147483647 is out of r": {{Path: write(t, whole, "m", request(1<<31-1, 2_000_000))}},
	} {
		_, err := Merge(logs, filepath.Join(t.TempDir(), "merged"), ignore)
		require.ErrorContains(t, err, want)
	}
}

// TestStageThatWasGivenUp: a coordinator that connects after a stage's wait has ended is not asked to start that stage.
func TestStageThatWasGivenUp(t *testing.T) {
	g, socket := listen(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := g.Wait(ctx, 0)
	require.ErrorIs(t, err, context.Canceled)
	c := connect(t, socket)
	l := newLink(c.In, c.Out)
	require.NoError(t, l.send(&message{Clock: &clockMessage{Number: 7}}))
	first, err := l.receive()
	require.NoError(t, err)
	require.Nil(t, first.Ready)
	require.Equal(t, 7, first.Clock.Number)
}

// TestSilentClock drops a shard that reads questions about its clock and answers none of them.
func TestSilentClock(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	defer here.Close()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	c := NewCoordinator([]Connection{{here, here}}, Options{})
	require.ErrorIs(t, c.shards[0].measure(ctx), context.DeadlineExceeded)
	require.Zero(t, c.Offsets()[0])
}
