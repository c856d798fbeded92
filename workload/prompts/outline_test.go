package prompts

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// An outline has the lengths of the source's requests, including the history before each of them.
func TestOutline(t *testing.T) {
	for name, p := range map[string]*profile.Profile{
		"conversations": with(profile.Conversations, talking),
		"prefixes": with(profile.Conversations, func(p *profile.Profile) {
			talking(p)
			bucketed(p)
		}),
		"groups": with(profile.SharedPrefix, grouped(true)),
	} {
		s, err := Open(p, Options{})
		require.NoError(t, err)
		for session := range 20 {
			calls, err := s.Calls(session)
			require.NoError(t, err)
			outline := Outline(p)(session, 7)
			require.Len(t, outline, min(7, len(calls)), name)
			history := 0
			for i, turn := range outline {
				var r Request
				require.NoError(t, s.Request(session, i, &r))
				require.Equal(t, Turn{history + r.Input, r.Output}, turn, "%s, session %d, turn %d", name, session, i)
				history += r.Input + r.Output
			}
		}
	}
	require.Nil(t, Outline(with(profile.Synthetic, nil)))
	require.Nil(t, Outline(with(profile.SharedPrefix, grouped(false))))
}
