package http1_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// busySink keeps the loop busy in its first completion until the other answer has come.
type busySink struct {
	*wiretest.Recorder
	beganNS   int64
	busy      chan struct{}
	written   chan struct{}
	writtenNS int64 // when the second answer was written, before written is closed
}

func (s *busySink) Complete(q query, o *backends.Outcome) {
	if s.beganNS == 0 {
		s.beganNS = time.Now().UnixNano()
		close(s.busy)
		<-s.written
		time.Sleep(10 * time.Millisecond)
	}
	s.Recorder.Complete(q, o)
}

// answersInTurn returns a server of two requests, and the sink for their answers. The second answer is written while
// the sink is busy with the first.
func answersInTurn(t *testing.T) (*busySink, string) {
	s := &busySink{Recorder: wiretest.NewRecorder(), busy: make(chan struct{}), written: make(chan struct{})}
	both := make(chan struct{}, 2)
	return s, wiretest.Raw(t, func(c net.Conn, conn, _ int) bool {
		both <- struct{}{}
		if conn == 0 {
			for len(both) < 2 {
				time.Sleep(time.Millisecond)
			}
			c.Write([]byte(wiretest.Streamed))
			return true
		}
		<-s.busy
		c.Write([]byte(wiretest.Streamed))
		s.writtenNS = time.Now().UnixNano()
		close(s.written)
		return true
	})
}

// TestReadableIsNotLaterThanTheBytes has an answer come while the loop is busy with another one: the time that it
// waited is lag of the client, so its last token counts as readable from before the loop was busy. A loop that is held
// up inside its own wait cannot know that, so one round of several has to show it.
func TestReadableIsNotLaterThanTheBytes(t *testing.T) {
	shown := 0
	for range 10 {
		s, url := answersInTurn(t)
		c := wiretest.Config(url)
		c.Concurrency = 2
		b, err := contract.Open(c)
		require.NoError(t, err)
		require.NoError(t, b.Serve(t.Context(), wiretest.NewQueries(2).End(), s))
		s.ExactlyOnce(t, 2)
		for _, res := range s.Results {
			require.Equal(t, backends.OK, res.Reason)
			require.LessOrEqual(t, res.ReadableNS, res.LastTokenNS)
			if res.LastTokenNS > s.beganNS && res.ReadableNS <= s.beganNS {
				shown++
			}
		}
	}
	require.Positive(t, shown)
}

// TestKernelTimesAreThoseOfTheBytes has the loop be busy with one answer for 10 ms after the other has come: that one's
// tokens have the time at which they came, and a client that reads slowly has the time of its reading.
func TestKernelTimesAreThoseOfTheBytes(t *testing.T) {
	require.Equal(t, 1, lateAnswers(t, backends.Conduct{PerRead: time.Microsecond}))
	// The kernel begins to keep times some moments after the first socket has asked for them.
	require.Eventually(t, func() bool { return lateAnswers(t, backends.Conduct{}) == 0 }, time.Minute, time.Millisecond)
}

// lateAnswers returns how many of two answers have the time at which the loop read them.
func lateAnswers(t *testing.T, conduct backends.Conduct) (late int) {
	s, url := answersInTurn(t)
	c := wiretest.Config(url)
	c.Concurrency, c.KernelTimes = 2, true
	c.Conduct = func(int) backends.Conduct { return conduct }
	b, err := contract.Open(c)
	require.NoError(t, err)
	require.NoError(t, b.Serve(t.Context(), wiretest.NewQueries(2).End(), s))
	s.ExactlyOnce(t, 2)
	for _, res := range s.Results {
		require.Equal(t, backends.OK, res.Reason)
		require.LessOrEqual(t, res.SentNS, res.FirstByteNS)
		require.LessOrEqual(t, res.FirstByteNS, res.FirstTokenNS)
		require.LessOrEqual(t, res.FirstTokenNS, res.LastTokenNS)
		require.LessOrEqual(t, res.ReadableNS, res.LastTokenNS)
		if res.LastTokenNS > s.writtenNS+int64(5*time.Millisecond) {
			late++
		}
	}
	return late
}
