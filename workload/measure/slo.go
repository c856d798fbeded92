package measure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/config/strict"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Limit is one condition of a service: a percentile of a metric is below a time. With Percent 100 every request
// must meet it.
type Limit struct {
	Metric  string        `json:"metric"`
	Percent float64       `json:"percent"`
	Below   time.Duration `json:"below_ns"`
}

func (l Limit) String() string { return fmt.Sprintf("%s:p%g<%v", l.Metric, l.Percent, l.Below) }

// limited are the metrics that a limit may name: those of one value per request, and the longest gap between its
// tokens.
var limited = []string{nameTTFT, nameTTFO, nameTPOT, nameITL, nameNTPOT, nameE2E, "ttft_due", "e2e_due"}

// ParseLimits reads limits such as "ttft:p99<500ms,tpot:p95<40ms". A limit without a percentile is one of every
// request. A number without a unit is an error: vLLM's client and aiperf mean milliseconds, and profiles mean
// seconds. A limit that is a thousand times too long would always be met, and would permit this client any delay.
func ParseLimits(text string) ([]Limit, error) {
	var list []Limit
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		l, err := parseLimit(part)
		if err != nil {
			return nil, fmt.Errorf("the limit %.60q: %w; write it as ttft:p99<500ms", part, err)
		}
		list = append(list, l)
	}
	return list, nil
}

func parseLimit(text string) (Limit, error) {
	left, below, ok := strings.Cut(text, "<")
	if !ok {
		return Limit{}, fmt.Errorf("it has no <")
	}
	metric, percent, hasPercent := strings.Cut(left, ":")
	l := Limit{Metric: strings.ToLower(strings.TrimSpace(metric)), Percent: 100}
	if !slices.Contains(limited, l.Metric) {
		return l, fmt.Errorf("%.20q is no metric with a limit: there are %s%s", l.Metric, strings.Join(limited, ", "),
			config.DidYouMean(l.Metric, limited))
	}
	if hasPercent {
		var err error
		digits, isPercent := strings.CutPrefix(strings.TrimSpace(percent), "p")
		l.Percent, err = strconv.ParseFloat(digits, 64)
		if err != nil || !isPercent || !(l.Percent > 0 && l.Percent <= 100) {
			return l, fmt.Errorf("%.20q is no percentile between p0 and p100", percent)
		}
	}
	below = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(below), "="))
	if v, err := strconv.ParseFloat(below, 64); err == nil && v > 0 {
		return l, fmt.Errorf("%.20q has no unit: is it %.20sms or %.20ss?", below, below, below)
	}
	if l.Below, ok = strict.Duration(below); !ok || l.Below == 0 {
		return l, fmt.Errorf("%.20q is not a time above 0", below)
	}
	return l, nil
}

// ProfileLimits returns the limits of a profile. They are on each request's own figure.
func ProfileLimits(s *profile.SLO) (list []Limit) {
	for _, l := range []Limit{{nameTTFT, 100, s.TTFT}, {nameTPOT, 100, s.TPOT}, {nameITL, 100, s.ITL},
		{nameNTPOT, 100, s.NTPOT}, {nameE2E, 100, s.E2E}} {
		if l.Below > 0 {
			list = append(list, l)
		}
	}
	return list
}

// limitFormulas are the figures that limits are compared with.
var limitFormulas = map[string]formula{nameTTFT: ttft, nameTTFO: ttfo, nameTPOT: tpot, nameITL: longestGap,
	nameNTPOT: perToken(e2e), nameE2E: e2e, "ttft_due": fromDue((*request).FirstNS), "e2e_due": fromDue(endNS)}

func longestGap(r *request) (longest, _ float64, ok bool) {
	eventGaps(r, func(s float64, _ int) { longest = max(longest, s) })
	return longest, 1, len(r.Events) > 1
}

// meets reports whether a request is within a limit, and whether it has the limited figure. A failure is not within.
// Without the figure, only a stream that is too short for it is within, such as one of one token for the time per
// token: an answer that came as a whole, for which no client saw a first token, does not show that the server was fast
// enough.
func (l *Limit) meets(r *request) (within, isMeasured bool) {
	if !r.OK() {
		return false, false
	}
	s, _, ok := limitFormulas[l.Metric](r)
	if !ok {
		return len(r.Events) > 0 && (l.Metric == nameTPOT || l.Metric == nameITL), false
	}
	return s <= l.Below.Seconds(), true
}

// Attainment is the number of requests that met a limit.
type Attainment struct {
	Limit
	Text  string  `json:"text"`
	Good  int64   `json:"good"`
	Share float64 `json:"share"` // of all requests, failures included
	// Measured is the successes that have the figure. Those without it count as within if their stream was too short.
	Measured int64 `json:"measured"`
	Met      bool  `json:"met"` // Share is at least the limit's percentile
}

// Goodput is the requests that met every limit.
type Goodput struct {
	Requests     int64        `json:"requests"` // compared with the limits, failures included
	Good         int64        `json:"good"`
	Share        float64      `json:"share"` // of Requests
	RequestsPerS float64      `json:"requests_per_s"`
	TokensPerS   float64      `json:"output_tokens_per_s"`
	Met          bool         `json:"met"` // every limit is
	Limits       []Attainment `json:"limits"`
}

// goods counts requests that met limits.
type goods struct {
	limits []Limit
	each   []int64 // within, by limit
	has    []int64 // the figure, by limit
	seen   int64   // requests
	all    int64   // of them, that met every limit
	tokens int64
}

func (g *goods) add(r *request) {
	good := true
	g.seen++
	for i := range g.limits {
		within, isMeasured := g.limits[i].meets(r)
		if isMeasured {
			g.has[i]++
		}
		if within {
			g.each[i]++
		} else {
			good = false
		}
	}
	if good {
		g.all++
		g.tokens += int64(r.OutputTokens)
	}
}

func (g *goods) result(seconds float64) *Goodput {
	requests := g.seen
	if len(g.limits) == 0 || requests == 0 {
		return nil
	}
	out := &Goodput{Requests: requests, Good: g.all, Share: float64(g.all) / float64(requests),
		RequestsPerS: ratio(float64(g.all), seconds),
		TokensPerS:   ratio(float64(g.tokens), seconds), Met: true}
	for i, l := range g.limits {
		a := Attainment{Limit: l, Text: l.String(), Good: g.each[i], Measured: g.has[i],
			Share: float64(g.each[i]) / float64(requests)}
		const rounding = 1e-9
		a.Met = a.Share*100 >= l.Percent-rounding
		out.Met = out.Met && a.Met
		out.Limits = append(out.Limits, a)
	}
	return out
}

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
