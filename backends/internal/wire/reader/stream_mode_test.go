package reader

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// An event without ids brings as many tokens as its count grew, with a text or without one; without a count one token.
func TestEventsWithoutIDs(t *testing.T) {
	for name, c := range map[string]struct {
		e     Event
		want  int
		fails bool
		lacks bool
	}{
		"a count that grew":           {Event{Produced: 5}, 2, false, false},
		"the same count":              {Event{Produced: 3}, 0, false, false},
		"a text and a count":          {Event{Produced: 5, HasText: true}, 2, false, true},
		"a text and the same count":   {Event{Produced: 3, HasText: true}, 0, false, true},
		"a text without a count":      {Event{Produced: -1, HasText: true}, 1, false, true},
		"neither":                     {Event{Produced: -1}, 0, false, false},
		"a count that fell":           {Event{Produced: 2, HasText: true}, 0, true, false},
		"a count beyond every answer": {Event{Produced: 1 << 40}, 1<<30 - 3, false, false},
	} {
		a := &Answer{reported: 3}
		a.mode.count = 3
		require.Equal(t, c.want, a.addTextOnly(&c.e), name)
		require.Equal(t, c.fails, a.reason == backends.FailTokenCount, name)
		require.Equal(t, c.lacks, a.lacksIDs, name)
		require.False(t, a.firstLacks, name)
	}
	a := &Answer{}
	require.Equal(t, 1, a.addTextOnly(&Event{Produced: 1, HasText: true}))
	require.True(t, a.firstLacks, "the first tokens have no ids")
}
