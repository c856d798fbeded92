package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// The reason to end a stage names the breaker and what it counted, when it tripped first.
func TestTextsOfBreakers(t *testing.T) {
	window := profile.Breaker{Name: "w", Rate: .5, Window: 9 * time.Second, MinRequests: 4}
	row := profile.Breaker{Name: "r", Consecutive: 2, Match: []string{"Timeout"}}
	const ofRow, ofWindow = "the breaker r: 2 failures in a row", "the breaker w: 50 % of 4 requests within 9s failed"
	for name, c := range map[string]struct {
		breakers  []profile.Breaker
		maxErrors int
		ends      []ledger.Reason
		want      string
	}{
		"in a row":     {[]profile.Breaker{row}, 0, []ledger.Reason{"timeout", "timeout", "timeout"}, ofRow},
		"within":       {[]profile.Breaker{window}, 0, []ledger.Reason{"", "x", "", "x", "x"}, ofWindow},
		"row first":    {[]profile.Breaker{window, row}, 0, []ledger.Reason{"timeout", "timeout", "x", "x"}, ofRow},
		"both at once": {[]profile.Breaker{window, row}, 0, []ledger.Reason{"", "", "timeout", "timeout"}, ofRow},
		"within first": {[]profile.Breaker{window, row}, 0, []ledger.Reason{"x", "x", "", "", "timeout"}, ofWindow},
		"errors":       {nil, 2, []ledger.Reason{"x", "", "x"}, "load.max_errors: 2 requests failed"},
		"answers":      {[]profile.Breaker{window, row}, 2, []ledger.Reason{"", "x", "", "", ""}, ""},
	} {
		b := newBreakers(&profile.Load{Breakers: c.breakers, MaxErrors: c.maxErrors}, &profile.Stage{})
		for i, reason := range c.ends {
			b.add(&eventlog.Request{EndNS: int64(i), Reason: reason})
		}
		require.Equal(t, c.want, b.open(0, 0), name)
	}
	b := newBreakers(&profile.Load{ErrorRate: .1}, &profile.Stage{Timeout: time.Minute})
	require.Equal(t, "its timeout of 1m0s has passed", b.open(int64(time.Minute)+2, 1))
	b.ended, b.failed = 20, 3
	require.Equal(t, "load.max_error_rate: 3 of 20 requests failed", b.open(0, 0))
}

// Breakers remember no more requests than their longest window has.
func TestBreakersForget(t *testing.T) {
	load := &profile.Load{Breakers: []profile.Breaker{{Rate: 1, Window: 5}, {Rate: 1, Window: 9}, {Rate: 1, Window: 7}}}
	b, none := newBreakers(load, &profile.Stage{}), newBreakers(&profile.Load{}, &profile.Stage{})
	for i := range int64(100) {
		b.add(&eventlog.Request{EndNS: i})
		none.add(&eventlog.Request{EndNS: i})
	}
	require.Len(t, b.recent, 10)
	require.Empty(t, none.recent)
}
