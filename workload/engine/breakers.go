package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// breakers decide whether a stage ends early.
type breakers struct {
	load          *profile.Load
	stage         *profile.Stage
	ended, failed int
	row           []int     // by breaker: matching failures in a row
	recent        []outcome // within the longest window
	tripped       string
	longestWindow int64
}

type outcome struct {
	endNS int64
	code  ledger.Reason // of a failure
}

// fewestForErrorRate is how many requests must have ended before their error rate ends a stage.
const fewestForErrorRate = 20

func newBreakers(l *profile.Load, s *profile.Stage) breakers {
	b := breakers{load: l, stage: s, row: make([]int, len(l.Breakers))}
	for _, x := range l.Breakers {
		b.longestWindow = max(b.longestWindow, int64(x.Window))
	}
	return b
}

// add counts a request that has ended.
func (b *breakers) add(r *eventlog.Request) {
	b.ended++
	if r.Reason != "" {
		b.failed++
	}
	for i := range b.load.Breakers {
		x := &b.load.Breakers[i]
		switch {
		case r.Reason == "" || !matches(x, r.Reason):
			b.row[i] = 0
		default:
			if b.row[i]++; x.Consecutive > 0 && b.row[i] >= x.Consecutive && b.tripped == "" {
				b.tripped = fmt.Sprintf("the breaker %s: %d failures in a row", x.Name, b.row[i])
			}
		}
	}
	if b.longestWindow > 0 {
		b.recent = append(b.recent, outcome{r.EndNS, r.Reason})
		b.ratios(r.EndNS)
	}
}

// matches reports whether a failure concerns a breaker: by its code, or by its HTTP status.
func matches(x *profile.Breaker, code ledger.Reason) bool {
	return len(x.Match) == 0 || slices.ContainsFunc(x.Match, func(m string) bool {
		if _, err := strconv.Atoi(m); err == nil {
			return string(code) == "http_"+m
		}
		return strings.EqualFold(m, string(code))
	})
}

// ratios checks the breakers with a window that ends now.
func (b *breakers) ratios(now int64) {
	old := 0
	for old < len(b.recent) && b.recent[old].endNS < now-b.longestWindow {
		old++
	}
	b.recent = b.recent[old:]
	for i := range b.load.Breakers {
		x := &b.load.Breakers[i]
		if x.Rate == 0 {
			continue
		}
		all, bad := 0, 0 // the request that ended now is one of all
		for _, o := range b.recent {
			if o.endNS < now-int64(x.Window) {
				continue
			}
			all++
			if o.code != "" && matches(x, o.code) {
				bad++
			}
		}
		if ratio := float64(bad) / float64(all); all >= x.MinRequests && ratio >= x.Rate && b.tripped == "" {
			b.tripped = fmt.Sprintf("the breaker %s: %.0f %% of %d requests within %v failed", x.Name, 100*ratio, all, x.Window)
		}
	}
}

// open returns why the stage must end; empty: it continues. base is its start, 0 before it.
func (b *breakers) open(now, base int64) string {
	l := b.load
	switch {
	case b.tripped != "":
		return b.tripped
	case l.MaxErrors > 0 && b.failed >= l.MaxErrors:
		return fmt.Sprintf("load.max_errors: %d requests failed", b.failed)
	case l.ErrorRate > 0 && b.ended >= fewestForErrorRate && float64(b.failed)/float64(b.ended) > l.ErrorRate:
		return fmt.Sprintf("load.max_error_rate: %d of %d requests failed", b.failed, b.ended)
	case b.stage.Timeout > 0 && base > 0 && now > base+int64(b.stage.Timeout):
		return fmt.Sprintf("its timeout of %v has passed", b.stage.Timeout)
	}
	return ""
}
