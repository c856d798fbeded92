package http1_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// A stream whose tokens come slowly wakes the loop once for each, and nothing else does: it neither spins nor pauses
// nor looks at timers.
func TestASlowStreamWakesTheLoopOncePerToken(t *testing.T) {
	const tokens, answers = 32, 3
	segments := streamOf(tokens, 1)
	b, err := open(fixed(wiretest.CannedPaced(t, -1, 5*time.Millisecond, segments...), true, 1200))
	require.NoError(t, err)
	s := wiretest.NewClosed(t, answers, 1)
	require.NoError(t, b.Serve(context.Background(), s, s))
	require.Zero(t, s.Failures)
	require.Equal(t, answers*(tokens-1), s.Gaps)
	did := b.Features().Loop()
	// A busy machine brings several segments at once, and then there are fewer. The connection, and the source's end, have
	// some of their own.
	most := int64(answers*len(segments) + 10)
	require.LessOrEqual(t, did.Sleeps, most)
	require.GreaterOrEqual(t, did.Turns, int64(answers), "rounds are counted")
	require.LessOrEqual(t, did.Turns, 2*most, "after each answer it looks once more")
	require.Zero(t, did.Pauses)
}
