package tune

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// burst returns a schedule of one query per answer's time with a dense part in the middle.
func burst() (deltas []int64, dense int) {
	const answer = int64(1e9)
	for at := int64(0); at < 400*answer; at += answer {
		deltas = append(deltas, at)
		if at == 200*answer {
			dense = len(deltas)
			for i := range int64(60) {
				deltas = append(deltas, at+(i+1)*answer/100)
			}
		}
	}
	return deltas, dense
}

// The densest part comes first, after a lead-in that loads the server, and every part keeps its own gaps.
func TestTheHardestPartComesFirst(t *testing.T) {
	const answer = int64(1e9)
	deltas, dense := burst()
	require.True(t, slices.IsSorted(deltas))
	list := Hardest(deltas, answer, len(deltas))
	counted := slices.IndexFunc(list, func(a Arrival) bool { return a.Counted })
	require.Equal(t, 0, list[0].Part)
	require.Equal(t, int64(0), list[0].AtNS)
	lead := list[counted].AtNS - list[0].AtNS
	require.Less(t, lead, int64(fill)*answer)
	require.GreaterOrEqual(t, lead, int64(fill-1)*answer, "the server is empty before the first part")
	var first []int
	for _, a := range list {
		if a.Part == 0 && a.Counted {
			first = append(first, a.Query)
		}
	}
	require.Contains(t, first, dense+30, "the dense part")
	seen, begin := map[int]bool{}, 0
	for i, a := range list {
		if i > 0 {
			require.GreaterOrEqual(t, a.AtNS, list[i-1].AtNS)
		}
		if i > 0 && a.Part == list[i-1].Part {
			require.Equal(t, deltas[a.Query]-deltas[list[i-1].Query], a.AtNS-list[i-1].AtNS)
			require.Equal(t, list[i-1].Query+1, a.Query)
		}
		if i > 0 && a.Part != list[i-1].Part {
			mean := (list[i-1].AtNS - list[begin].AtNS) / max(int64(i-1-begin), 1)
			require.Equal(t, max(mean, 0), a.AtNS-list[i-1].AtNS, "the mean gap of the part before")
			begin = i
			later := slices.IndexFunc(list[i:], func(a Arrival) bool { return a.Counted })
			if later >= 0 && a.Query > 0 {
				require.Less(t, list[i+later].AtNS-a.AtNS, int64(leadIn)*answer)
			}
		}
		if a.Counted {
			require.False(t, seen[a.Query], "a query counts once")
			seen[a.Query] = true
		}
	}
	require.Len(t, Hardest(deltas, answer, 25), 25)
	require.Equal(t, list[:25], Hardest(deltas, answer, 25))
}

// If answers take hardly any time, the parts are still long enough to be measured.
func TestPartsOfQuickAnswers(t *testing.T) {
	deltas, _ := burst()
	require.Equal(t, Hardest(deltas, leastNS, 100), Hardest(deltas, 1, 100))
	require.NotEqual(t, Hardest(deltas, 2*leastNS, 100), Hardest(deltas, leastNS, 100))
	require.Empty(t, Hardest(nil, leastNS, 10))
	for i, a := range everyCounted(3) {
		require.Equal(t, Arrival{Counted: true}, a, i)
	}
}
