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
	beganNS int64
	busy    chan struct{}
	written chan struct{}
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

// TestReadableIsNotLaterThanTheBytes has an answer come while the loop is busy with another one: the time that it
// waited is lag of the client, so its last token counts as readable from before the loop was busy. A loop that is held
// up inside its own wait cannot know that, so one round of several has to show it.
func TestReadableIsNotLaterThanTheBytes(t *testing.T) {
	shown := 0
	for range 10 {
		s := &busySink{Recorder: wiretest.NewRecorder(), busy: make(chan struct{}), written: make(chan struct{})}
		both := make(chan struct{}, 2)
		url := wiretest.Raw(t, func(c net.Conn, conn, _ int) bool {
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
			close(s.written)
			return true
		})
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
