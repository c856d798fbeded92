package engine

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// Within its bounds, the lead is such that one of twenty wake-ups is later.
func TestLeadFollowsTheLateness(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct{ least, most, want, within float64 }{
		"between 10 and 30 us":  {10e3, 30e3, 29e3, 4e3},
		"always 5 us":           {5e3, 5e3, 5e3, 2e3},
		"a busy machine, 10 ms": {5e6, 10e6, mostLead, 0},
		"early":                 {-1e3, 0, 0, 1e3},
	} {
		l := lead{ns: firstLead}
		for range 20_000 {
			l.woke(int64(c.least + (c.most-c.least)*random.Float64()))
		}
		require.InDelta(t, c.want, l.ns, c.within, name)
	}
}

// Spinning takes at most a twentieth of the time.
func TestSpinningIsBounded(t *testing.T) {
	l := lead{ns: firstLead}
	now := int64(1e9)
	require.EqualValues(t, firstLead, l.allowed(now))
	l.spun = int64(time.Millisecond)
	require.Zero(t, l.allowed(now+int64(19*time.Millisecond)))
	require.EqualValues(t, firstLead, l.allowed(now+int64(20*time.Millisecond)))
}

// queueAt returns a queue whose clock moves by a µs with each reading, and a request due in a time.
func queueAt(t *testing.T, in time.Duration) (*queue, *int64) {
	clock := int64(1e9)
	q, err := newQueue(func() int64 { clock += 1000; return clock }, func() {})
	require.NoError(t, err)
	t.Cleanup(q.bell.Close)
	q.timed.push(&slot{notBefore: clock + int64(in)})
	return q, &clock
}

func TestQueueSpinsWithinTheLead(t *testing.T) {
	const ms = int64(time.Millisecond)
	var batch [4]loadgen.Query
	q, clock := queueAt(t, time.Millisecond)
	start := *clock
	require.False(t, q.Soon(0))
	require.True(t, q.Soon(time.Millisecond))
	require.True(t, q.Park(), "the loop sleeps until the lead")
	require.InDelta(t, start+ms-firstLead, q.alarm, 20e3)
	n, open := q.Wait(batch[:], 0)
	require.Zero(t, n)
	require.True(t, open)
	require.Less(t, *clock, start+ms/2, "it is too early to spin")

	*clock = start + ms - firstLead/2
	require.True(t, q.Soon(0))
	require.False(t, q.Park())
	n, _ = q.Wait(batch[:], 0)
	require.Equal(t, 1, n)
	require.InDelta(t, start+ms, batch[0].IssuedNS, 10e3, "it is issued when it is due")
	require.InDelta(t, firstLead/2, q.lead.spun, 15e3)
	require.False(t, q.Soon(time.Hour), "nothing comes")

	q, clock = queueAt(t, time.Millisecond)
	require.Equal(t, int64(math.MaxInt64), (&queue{}).next())
	q.lead.began, q.lead.spun = *clock, ms // too much
	*clock += ms - firstLead/2
	require.True(t, q.Park(), "it sleeps for the rest")
	n, _ = q.Wait(batch[:], 0)
	require.Zero(t, n)
}

// The lead changes by a µs if a wake-up is later than it, and by a twentieth of that otherwise, between 0 and 100 µs.
func TestStepsOfTheLead(t *testing.T) {
	for _, c := range []struct{ ns, late, want int64 }{{50_000, 50_000, 49_950}, {50_000, 50_001, 51_000},
		{99_500, 1 << 40, 100_000}, {100_000, 1 << 40, 100_000}, {20, 0, 0}, {0, 0, 0}, {0, 1, 1000}} {
		l := lead{ns: c.ns}
		l.woke(c.late)
		require.Equal(t, c.want, l.ns, "%+v", c)
	}
	q := queueWith(t, 0, new(int))
	require.EqualValues(t, 50_000, q.lead.ns)
	l := lead{ns: 7, began: 100, spun: 3}
	require.Zero(t, l.allowed(159), "it spun for more than a twentieth of the time")
	require.EqualValues(t, 7, l.allowed(160))
}

// A thread spins for a request within the lead, and for no other.
func TestWhenAThreadSpins(t *testing.T) {
	for at, spins := range map[int64]bool{1000: false, 1001: true, 1000 + firstLead: true, 1001 + firstLead: false,
		math.MaxInt64: false} {
		q := queueWith(t, 0, new(int))
		now := int64(999)
		q.now = func() int64 { now++; return now }
		require.Equal(t, spins, q.spin(at), at)
		if spins {
			require.Equal(t, []int64{at, at - 1000}, []int64{now, q.lead.spun})
		}
	}
}
