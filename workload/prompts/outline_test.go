package prompts

import (
	"reflect"
	"testing"
	"time"

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

// A system prompt that is longer than the context leaves room for the first turn, so that no server rejects it.
func TestSystemPromptsFitTheContext(t *testing.T) {
	for system, want := range map[float64]int{50: 80, 900: 200, 0: 30} {
		p := profile.Defaults()
		p.Data = profile.Data{Kind: profile.Conversations, Input: profile.FixedAt(20), Output: profile.FixedAt(30),
			Turns: &profile.Turns{Conversations: 2, Count: profile.FixedAt(1), SharedSystem: 10, MaxContext: 230,
				System: profile.FixedAt(system)}}
		require.Equal(t, []Turn{{want, 30}}, Outline(p)(0, 1), system)
	}
}

// With rotation, the pause of a tool follows every answer, also the last one of a conversation.
func TestPausesOfConversations(t *testing.T) {
	for rotate, want := range map[bool]time.Duration{false: 0, true: 4 * time.Second} {
		p := profile.Defaults()
		p.Data = profile.Data{Kind: profile.Conversations, Rotate: rotate, Input: profile.FixedAt(2),
			Output: profile.FixedAt(3), Turns: &profile.Turns{Conversations: 2, Count: profile.FixedAt(3),
				ToolLatency: profile.FixedAt(4)}}
		turns, _ := (&conversations{p: p, x: newPrefixes(p, nil)}).turns(0)
		require.Len(t, turns, 3)
		require.Equal(t, []time.Duration{want, 4 * time.Second, 4 * time.Second},
			[]time.Duration{turns[0].delay, turns[1].delay, turns[2].delay})
	}
}

// A finished conversation starts again with the same texts, unless the conversations are fresh.
func TestFreshConversations(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		p := with(profile.Conversations, func(p *profile.Profile) {
			talking(p)
			p.Data.Turns.Conversations, p.Data.Turns.Fresh = 3, fresh
		})
		s, err := newConversations(p, Options{})
		require.NoError(t, err)
		var first, again Request
		require.NoError(t, s.Request(1, 0, &first))
		require.NoError(t, s.Request(4, 0, &again))
		require.Equal(t, fresh, first.Text != again.Text)
		require.Equal(t, fresh, !reflect.DeepEqual(Outline(p)(1, 9), Outline(p)(4, 9)))
		_, err = s.Calls(4)
		require.NoError(t, err)
	}
}
