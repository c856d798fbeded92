package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLatenessOfEvents(t *testing.T) {
	s := &Server{pages: pages{meters: newMeters()}}
	require.Zero(t, s.Stats().MeanLateness, "no event yet")
	for _, late := range []time.Duration{4 * time.Millisecond, 9 * time.Millisecond, 2 * time.Millisecond} {
		s.meters.late(int64(late))
	}
	st := s.Stats()
	require.EqualValues(t, 3, st.Events)
	require.Equal(t, 5*time.Millisecond, st.MeanLateness)
	require.Equal(t, 9*time.Millisecond, st.WorstLateness)
}
