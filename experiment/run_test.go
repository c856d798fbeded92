package experiment

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// After a signal no further trial is announced, even if the last one has ended by itself: the observer, which is nil,
// is not called.
func TestNoTrialBeginsAfterASignal(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stopped := errors.New("stopped")
	cancel(stopped)
	x := &experimenter{state: &State{Arrangements: Batching([]int{4}, nil), Repeats: 1}}
	require.ErrorIs(t, x.run(ctx), stopped)
}
