package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// straggling is 20 requests/s for two seconds with answers of 40 ms, but one that gets none for 10 s.
func straggling() (list []eventlog.Request) {
	for i := range int64(40) {
		at := int64(time.Second) + i*50*ms
		r := eventlog.Request{Seq: int(i), DueNS: at, ReadyNS: at, SentNS: at, EndNS: at + 40*ms, OutputTokens: 3}
		if i == 35 {
			r.EndNS, r.OutputTokens, r.Reason = at+10_000*ms, 0, "timeout"
		}
		list = append(list, r)
	}
	return list
}

// After the last sending there is no steady window, however long the last answers take.
func TestTheSteadyWindowEndsWithTheLastSending(t *testing.T) {
	s := measured(t, Options{}, straggling()...).Steady
	require.NotNil(t, s)
	require.InDelta(t, 1, sec(s.StartNS), .02)
	require.InDelta(t, 1+39*.05, sec(s.EndNS), .02)
	require.InDelta(t, 38/1.95, s.RequestRate, .5)

	burst := straggling()
	for i := range burst {
		burst[i].DueNS, burst[i].ReadyNS, burst[i].SentNS = 1e9, 1e9, 1e9
	}
	require.Nil(t, measured(t, Options{}, burst...).Steady, "all sent at once")
}

// The windows are those of one stage, and a run of several stages names it.
func TestAWindowNamesItsStage(t *testing.T) {
	m := measured(t, Options{}, straggling()...)
	require.Empty(t, m.OfStage(m.Steady.Stage))
	short := straggling()[0]
	short.Stage, short.DueNS, short.ReadyNS, short.SentNS = 1, 30e9, 30e9, 30e9
	short.EndNS = short.SentNS + 40*ms
	m = measured(t, Options{}, append(straggling(), short)...)
	require.Equal(t, " of stage 0", m.OfStage(m.Steady.Stage))
	require.Equal(t, " of stage 0", m.OfStage(m.MLPerf.Stage))
}

// LoadGen's window ends with the answer to the request that was due last. Its rates count all answers.
func TestTheWindowOfLoadGen(t *testing.T) {
	list := straggling()
	list[0], list[39] = list[39], list[0] // the log has the order of the ends
	list[3].SentNS += 5 * ms
	c := measured(t, Options{}, list...).MLPerf
	const seconds = 39*.05 + .04
	require.EqualValues(t, 1e9, c.StartNS)
	require.EqualValues(t, 1e9+1990*ms, c.EndNS)
	require.InDelta(t, seconds, c.DurationS, 1e-9)
	require.InDelta(t, 38/seconds, c.RequestRate, 1e-9)
	require.InDelta(t, 117/seconds, c.OutputTokenRate, 1e-9)

	last := straggling()[39]
	last.Seq, last.EndNS = 40, last.EndNS+100*ms // due at the same time, but after it in the plan
	c = measured(t, Options{}, append([]eventlog.Request{last}, list...)...).MLPerf
	require.InDelta(t, seconds+.1, c.DurationS, 1e-9)

	require.Nil(t, measured(t, Options{}, list[1]).MLPerf, "one answer has no rate")
	list[0].EndNS = 0
	require.Nil(t, measured(t, Options{}, list...).MLPerf, "the last request has no end")
}
