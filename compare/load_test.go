package compare

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked returns a Server result at a target rate with the rates that LoadGen reports.
func asked(random *rand.Rand, n int, target, completed, tokens float64) *Result {
	r := resultOf(random, n, 1)
	value := completed * tokens
	r.Value = &value
	r.settings = []setting{{configGroup, "target-qps", digits(&target)}}
	r.loadgen = map[string]any{"effective_target_qps": target, "result_scheduled_samples_per_sec": target * 1.01,
		"result_completed_samples_per_sec": completed, "result_completed_tokens_per_second": value}
	return r
}

// A result that follows from the target rate is neither better nor worse, and does not affect the gate.
func TestResultThatFollowsFromTheTarget(t *testing.T) {
	random := rand.New(rand.NewPCG(30, 1))
	compare := func(a, b *Result) *Report {
		r := Compare([]*Source{sourceOf(a), sourceOf(b)}, Settings{Gate: true})
		fits(t, r)
		return r
	}
	same := compare(asked(random, 4000, 20, 19.27, 64), asked(random, 4000, 20, 19.27, 69.85))
	require.Equal(t, AsAsked, same.Pairs[0].Rows[0].Verdict)
	require.Equal(t, []string{"A answered 19.27 queries/s at a target of 20, B 19.27 at 20: both met the same target, " +
		"so the result shows no difference in speed; look at the latencies",
		"answers of B are 9.1 % longer (64 and 69.85 tokens on average)"}, same.Pairs[0].Notes)
	require.True(t, same.Gate.Passed, same.Gate.Failures)

	less := asked(random, 4000, 20, 19.27, 64)
	more := compare(less, asked(random, 4000, 100, 97, 64))
	require.Equal(t, AsAsked, more.Pairs[0].Rows[0].Verdict)
	require.InDelta(t, 4.03, *more.Pairs[0].Rows[0].Change, 0.01, "shown, and not refused")
	require.Contains(t, more.Pairs[0].Notes[1], "both met their own target")
	require.True(t, more.Gate.Passed, more.Gate.Failures)
	back := compare(asked(random, 4000, 100, 97, 64), less)
	require.Equal(t, []string{"llama3.1-8b Server performance, B against A: not comparable: B had a lower target rate; " +
		"measure both at the same one, or compare tunes"}, back.Gate.Failures)

	short := compare(asked(random, 9, 20, 19.27, 64), asked(random, 9, 20, 19.27, 64))
	require.Contains(t, short.Gate.Failures[0], "nothing can be judged")

	saturated := compare(asked(random, 4000, 100, 97, 64), asked(random, 4000, 100, 60, 64))
	require.NotNil(t, saturated.Pairs[0].Rows[0].Interval, "the rate of a saturated server is its own")
	require.Contains(t, saturated.Pairs[0].Notes[0], "only B was slower than its target")
}
