package http1

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// spin looks n times, each interval ns after the one before and with so many events.
func (p *pace) spin(at *int64, n int, interval int64, events int) {
	for range n {
		*at += interval
		p.look(*at, events)
	}
}

func TestPace(t *testing.T) {
	at := int64(1)
	never := pace{}
	never.spin(&at, 100, 1000, 1)
	require.False(t, never.on, "0 means never")

	p := pace{length: 50 * time.Microsecond}
	p.spin(&at, 32, 200_000, 1)
	require.False(t, p.on, "5,000 wake-ups per second are borne")
	p.spin(&at, 16, 10_000, 1)
	require.True(t, p.on, "100,000 are not")
	p.spin(&at, 32, 60_000, 6)
	require.True(t, p.on, "each pause brings six")
	p.spin(&at, 16, 60_000, 1)
	require.False(t, p.on, "a pause that brings one is for nothing")
	p.spin(&at, 32, 10_000, 20)
	require.False(t, p.on, "a loop that has enough to do does not pause")
}

func TestStats(t *testing.T) {
	var l loop
	l.stats.endRound(50)
	require.Zero(t, l.stats.turns, "none has begun")
	l.stats.beginRound(1000, 3)
	l.stats.endRound(5000)
	l.stats.beginRound(6000, 2)
	l.stats.endRound(6500)
	s := l.summary(1, 2)
	require.EqualValues(t, 2, s.Turns)
	require.EqualValues(t, 5, s.Events)
	require.InDelta(t, 4, s.StallMaxUS, 1e-9)
	require.Len(t, s.Stalls, 3)
}
