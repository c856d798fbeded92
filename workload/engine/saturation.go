package engine

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// saturation detects that a stage sends more than its server can take: the requests in flight and the times to first
// tokens both grow, and half of these times are above a limit. The rule is guidellm's (its version 0.8.1,
// scheduler/constraints/saturation.py; docs/reference/profiles.md#stages-that-end-early).
type saturation struct {
	profile.Saturation // no value is 0
	inFlight, ttft     trend
	late               int   // points of ttft above the limit
	sent               int64 // so far, at the last point of inFlight
	atNS               int64 // wall clock of the detection; 0: not yet
}

// newSaturation returns the rule of a stage, or nil if it has none. The probes of a sweep are exempt, because they are
// to saturate the server.
func newSaturation(l *profile.Load, s *profile.Stage) *saturation {
	if l.Saturation == nil || l.Sweep != nil && s.Warmup {
		return nil
	}
	return &saturation{Saturation: l.Saturation.Full()}
}

// point is a value at a time in seconds after the stage's start.
type point struct{ atS, value float64 }

// trend is a linear regression over the last points.
type trend struct {
	points           []point
	all              int // points so far
	x, y, xx, xy, yy float64
}

func (t *trend) add(p point) {
	t.all++
	t.points = append(t.points, p)
	t.sum(p, 1)
}

// forget removes the oldest point and returns it.
func (t *trend) forget() point {
	p := t.points[0]
	t.points = t.points[1:]
	t.sum(p, -1)
	return p
}

func (t *trend) sum(p point, sign float64) {
	t.x += sign * p.atS
	t.y += sign * p.value
	t.xx += sign * p.atS * p.atS
	t.xy += sign * p.atS * p.value
	t.yy += sign * p.value * p.value
}

// isOld reports whether the oldest point is outside of the window.
func (t *trend) isOld(s *saturation, nowS float64) bool {
	n := len(t.points)
	return n > 0 && (n > int(float64(t.all)*s.WindowShare) || nowS-t.points[0].atS > s.Window.Seconds())
}

// grows reports whether the slope is above 0 with a margin of error below the limit. effective is the number of
// independent points.
func (t *trend) grows(effective float64, s *saturation) bool {
	const fewest = 3
	if effective < fewest {
		return false
	}
	n := float64(len(t.points))
	xx, xy, yy := t.xx-t.x*t.x/n, t.xy-t.x*t.y/n, t.yy-t.y*t.y/n
	if xx <= 0 || xy <= 0 {
		return false
	}
	slope, free := xy/xx, effective-2
	standardError := math.Sqrt(max(0, yy-xy*xy/xx) / free / xx)
	return studentQuantile((1+s.Confidence)/2, free)*standardError/slope < s.Margin
}

// studentQuantile approximates a quantile of Student's t distribution (Abramowitz and Stegun, formula 26.7.5).
func studentQuantile(p, free float64) float64 {
	z := math.Sqrt2 * math.Erfinv(2*p-1)
	z3 := z * z * z
	return z + (z3+z)/4/free + (5*z3*z*z+16*z3+3*z)/96/(free*free)
}

// look adds what is known at a time, and reports whether the server is over-saturated. It has a point of the requests
// in flight for each look at which further requests have been sent.
func (s *saturation) look(nowNS, baseNS, sent, ended int64, firsts []firstToken) bool {
	if baseNS == 0 || nowNS < baseNS {
		return false
	}
	nowS := time.Duration(nowNS - baseNS).Seconds()
	if sent > s.sent {
		s.sent = sent
		s.inFlight.add(point{nowS, float64(sent - ended)})
	}
	for _, f := range firsts {
		ttft := time.Duration(f.atNS - f.sentNS).Seconds()
		s.ttft.add(point{time.Duration(f.atNS - baseNS).Seconds(), ttft})
		s.late += s.isLate(ttft)
	}
	for s.inFlight.isOld(s, nowS) {
		s.inFlight.forget()
	}
	for s.ttft.isOld(s, nowS) {
		s.late -= s.isLate(s.ttft.forget().value)
	}
	if !s.isOver(nowS) {
		return false
	}
	if s.atNS == 0 {
		s.atNS = nowNS
	}
	return true
}

// isLate returns 1 for a time to first token above the limit, in seconds, and 0 for others.
func (s *saturation) isLate(ttft float64) int {
	if ttft > s.TTFT.Seconds() {
		return 1
	}
	return 0
}

// isOver applies the rule. Points within the same second depend on each other, so that there are at most as many
// independent ones as seconds.
func (s *saturation) isOver(nowS float64) bool {
	inFlight, ttft := min(nowS, float64(len(s.inFlight.points))), min(nowS, float64(len(s.ttft.points)))
	if nowS < s.MinTime.Seconds() || nowS < s.TTFT.Seconds() || len(s.ttft.points) > 2*s.late ||
		inFlight < float64(s.MinPoints) || !s.inFlight.grows(inFlight, s) {
		return false
	}
	return ttft < float64(s.MinPoints) || s.ttft.grows(ttft, s)
}

// why describes the detection.
func (s *saturation) why(baseNS int64) string {
	return fmt.Sprintf("load.over_saturation: after %.1f s, %.0f requests are in flight, and %d of the last %d times to "+
		"first token are above %v; both grow", time.Duration(s.atNS-baseNS).Seconds(),
		s.inFlight.points[len(s.inFlight.points)-1].value, s.late, len(s.ttft.points), s.TTFT)
}

// firstToken is when a request was sent and when its first token came, in ns of the wall clock.
type firstToken struct{ sentNS, atNS int64 }

// firstTokens passes first tokens from the loops to the director.
type firstTokens struct {
	mu   sync.Mutex
	list []firstToken
}

func (f *firstTokens) add(t firstToken) {
	f.mu.Lock()
	f.list = append(f.list, t)
	f.mu.Unlock()
}

// take removes the collected first tokens and returns them, appended to into.
func (f *firstTokens) take(into []firstToken) []firstToken {
	f.mu.Lock()
	into = append(into, f.list...)
	f.list = f.list[:0]
	f.mu.Unlock()
	return into
}

// saturated looks at the present stage. It returns why the stage must end; empty: it continues.
func (d *director) saturated(unsent bool) string {
	s := d.saturation
	if s == nil {
		return ""
	}
	d.firsts = d.first.take(d.firsts[:0])
	isOver := s.look(d.now(), d.base, d.live[liveSent].Load(), d.live[liveEnded].Load(), d.firsts)
	if !isOver || s.Mode != profile.Enforce || !unsent {
		return ""
	}
	return s.why(d.base)
}
