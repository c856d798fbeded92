package http1

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestArrivedFollowsTheAge sets the wall clock of the kernel's times apart from the loop's: only the age counts, within
// the loop's own bounds.
func TestArrivedFollowsTheAge(t *testing.T) {
	const second = int64(time.Second)
	for name, c := range map[string]struct {
		age     time.Duration // of the kernel's time; a negative one is in the future
		floor   time.Duration // before now
		least   time.Duration // age of the result
		most    time.Duration
		unknown bool
	}{
		"a little before": {age: 30 * time.Millisecond, floor: time.Second, least: 30 * time.Millisecond,
			most: 500 * time.Millisecond},
		"the clock was set back": {age: -time.Hour, floor: time.Second, most: 400 * time.Millisecond},
		"the clock was set forwards": {age: time.Hour, floor: time.Second, least: 900 * time.Millisecond,
			most: 2 * time.Second},
		"the kernel kept none": {unknown: true, floor: time.Second, most: 400 * time.Millisecond},
	} {
		p := poller{clock: newClock()}
		p.baseWall -= 7 * second // the clock was set after the loop had begun
		p.stamp()
		p.floor = p.wall - int64(c.floor)
		p.since = p.floor
		at := int64(0)
		if !c.unknown {
			at = time.Now().Add(-c.age).UnixNano()
		}
		p.arrived(at)
		age := time.Duration(p.wall - p.came)
		require.GreaterOrEqual(t, age, c.least, name)
		require.LessOrEqual(t, age, c.most, name)
		require.Equal(t, !c.unknown, p.known, name)
		if c.unknown {
			require.Equal(t, p.since, p.readable(), name)
		} else {
			require.Equal(t, p.came, p.readable(), name)
		}
		p.stamp()
		require.Equal(t, p.wall, p.came, "what is not read has the loop's time")
	}
}
