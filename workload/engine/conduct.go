package engine

import (
	"math/rand/v2"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/workload/lengths"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Streams of random numbers: which clients leave, and which read slowly.
const (
	leaveStream uint64 = 0x6c656176 << 32
	slowStream  uint64 = 0x736c6f77 << 32
)

// conduct draws the behaviour of a client. random returns the numbers of a stream.
func conduct(load *profile.Load, random func(stream uint64) *rand.Rand) (c backends.Conduct) {
	if x := load.Leave; x != nil {
		if r := random(leaveStream); r.Float64() < x.Share {
			if x.Tokens != nil {
				c.LeaveTokens = max(1, lengths.Tokens(x.Tokens, r))
			}
			if x.After != nil {
				c.LeaveAfter = seconds(lengths.Draw(x.After, r))
			}
		}
	}
	if x := load.Slow; x != nil {
		if r := random(slowStream); r.Float64() < x.Share {
			if x.Rate != nil {
				c.PerToken = seconds(1 / lengths.Draw(x.Rate, r))
			}
			if x.Pause != nil {
				c.PerRead = seconds(lengths.Draw(x.Pause, r))
			}
		}
	}
	return c
}

// seconds returns a time of at least 1 ns and at most a day.
func seconds(s float64) time.Duration {
	return max(1, time.Duration(min(s, (24*time.Hour).Seconds())*float64(time.Second)))
}
