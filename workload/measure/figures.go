package measure

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/ledger"
)

// Counts are the numbers of requests by outcome.
type Counts struct {
	Total       int64                   `json:"total"`
	OK          int64                   `json:"successes"`
	Failed      int64                   `json:"failures"`
	Cancelled   int64                   `json:"cancelled"` // by the client, on purpose or because the run was ended
	Leavers     int64                   `json:"leavers"`   // clients that were to leave early, answered before or not
	Slow        int64                   `json:"slow"`      // clients that were to read slowly
	Measured    int64                   `json:"measured"`  // successes of other clients, whose latencies count
	FailureRate float64                 `json:"failure_rate"`
	ByCause     map[ledger.Reason]int64 `json:"failures_by_cause"`
	Empty       int64                   `json:"empty"` // successes without a token
	Retried     int64                   `json:"retried"`
}

// Tokens are sums over successful requests, compared with the lengths that the profile requested.
type Tokens struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Cancelled int64 `json:"cancelled_output"` // of requests that the client left, until then; not in Output
	OtherIn   int64 `json:"other_input"`      // requests whose prompt has another length than was sent
	ShortIn   int64 `json:"shorter_input"`    // requests whose server counts less than 90 % of the prompt that was sent
	ShortOut  int64 `json:"shorter_output"`   // answers that are shorter than was asked for
	// Unknown is the requests whose server reports no length of the prompt. Input has the length that the profile asked
	// for, where it is known: not of later turns, whose prompts contain the earlier ones.
	Unknown   int64   `json:"unknown_input"`
	MeanInput float64 `json:"mean_input"`
	MeanOut   float64 `json:"mean_output"`
}

// PrefixCache is how much of the prompts the server had in its cache, by its own count. It has the successful requests
// for which the server reported this.
type PrefixCache struct {
	Requests int64   `json:"requests"`
	Prompt   int64   `json:"prompt_tokens"`
	Cached   int64   `json:"cached_tokens"` // of Prompt
	HitRate  float64 `json:"hit_rate"`      // Cached / Prompt, 0 to 1
}

// String returns the sums in a line.
func (c *PrefixCache) String() string {
	return fmt.Sprintf("%.2f %% of %d prompt tokens (reported for %s)", 100*c.HitRate, c.Prompt,
		plural.Count(c.Requests, "request", "requests"))
}

// add counts a successful request. It returns the sums, which begin with the first request that has a count.
func (c *PrefixCache) add(r *request) *PrefixCache {
	if !r.HasCached {
		return c
	}
	if c == nil {
		c = &PrefixCache{}
	}
	c.Requests++
	c.Prompt += int64(r.InputTokens)
	c.Cached += int64(r.CachedTokens)
	return c
}

// Throughput is per second, from the first sending to the last end of any request.
type Throughput struct {
	Requests     float64 `json:"request_rate"`
	InputTokens  float64 `json:"input_token_rate"`
	OutputTokens float64 `json:"output_token_rate"`
	TotalTokens  float64 `json:"total_token_rate"`
	SendRate     float64 `json:"send_rate"` // all requests, by the time from the first sending to the last
}

// Sessions are the counts of requests that belong to sessions.
type Sessions struct {
	Begun    int64 `json:"begun"` // first calls
	Calls    int64 `json:"calls"`
	Answered int64 `json:"answered"` // of the calls
}

func (s *Sessions) add(r *request) {
	s.Calls++
	if r.Turn == 0 {
		s.Begun++
	}
	if r.OK() {
		s.Answered++
	}
}

// Figures are the results of some requests.
type Figures struct {
	Requests    Counts                   `json:"requests"`
	Tokens      Tokens                   `json:"tokens"`
	PrefixCache *PrefixCache             `json:"prefix_cache,omitempty"` // nil: the server did not report it
	Sessions    *Sessions                `json:"sessions,omitempty"`
	StartNS     int64                    `json:"start_ns"` // first sending, wall clock
	EndNS       int64                    `json:"end_ns"`
	DurationS   float64                  `json:"duration_s"`
	Throughput  Throughput               `json:"throughput"`
	Latency     map[string]*Distribution `json:"latency_s"`
	Goodput     *Goodput                 `json:"goodput,omitempty"`
	Consistency *Consistency             `json:"consistency,omitempty"`
}

// Consistency is how well two identities of the means hold, which ignore the first token.
type Consistency struct {
	E2E   float64 `json:"e2e_minus_ttft_plus_tpot_times_n_s"`
	NTPOT float64 `json:"ntpot_minus_ttft_over_n_plus_tpot_s"`
}

// pot collects the figures of one group of requests.
type pot struct {
	Figures
	columns  []column
	goods    goods
	lastSent int64
	counting bool // this pass counts requests too
}

// column collects a metric.
type column struct {
	Metric
	*values
	isDelay bool
	gap     func(s float64, times int) // adds a gap
}

// newPot returns an empty pot with room for the values of some requests.
func newPot(metrics []Metric, limits []Limit, most int, counting bool, room int64) *pot {
	p := &pot{counting: counting, goods: goods{limits: limits, each: make([]int64, len(limits)),
		has: make([]int64, len(limits))}}
	p.Requests.ByCause, p.Latency = map[ledger.Reason]int64{}, map[string]*Distribution{}
	for _, m := range metrics {
		v := newValues(most, int(room))
		p.columns = append(p.columns, column{m, v, m.Name == delays[0].Name || m.Name == delays[1].Name,
			func(s float64, times int) {
				for range times {
					v.add(s, 1)
				}
			}})
	}
	return p
}

// add counts a request. Latencies are those of successes whose clients read at once until the end; delays are those of
// every request that was sent.
func (p *pot) add(r *request) {
	if p.counting {
		p.count(r)
	}
	isMeasured := r.OK() && r.Ordinary()
	for i := range p.columns {
		c := &p.columns[i]
		switch {
		case !isMeasured && !c.isDelay:
		case c.gaps != nil:
			c.gaps(r, c.gap)
		default:
			if s, weight, ok := c.of(r); ok {
				c.values.add(s, weight)
			}
		}
	}
}

func (p *pot) count(r *request) {
	c, t := &p.Requests, &p.Tokens
	c.Total++
	if r.Retries > 0 {
		c.Retried++
	}
	at := sent(r)
	if p.StartNS == 0 || at < p.StartNS {
		p.StartNS = at
	}
	p.lastSent, p.EndNS = max(p.lastSent, at), max(p.EndNS, r.EndNS, at)
	if r.Session > 0 {
		if p.Sessions == nil {
			p.Sessions = &Sessions{}
		}
		p.Sessions.add(r)
	}
	if r.Leaver {
		c.Leavers++
	}
	if r.Slow {
		c.Slow++
	}
	if r.Ordinary() {
		p.goods.add(r)
		if r.OK() {
			c.Measured++
		}
	}
	switch {
	case r.Cancelled || r.Reason == ledger.FailCancelled:
		c.Cancelled++
		t.Cancelled += int64(r.OutputTokens)
	case !r.OK():
		c.Failed++
		c.ByCause[r.Reason]++
	default:
		c.OK++
		t.Input += int64(input(r))
		t.Output += int64(r.OutputTokens)
		p.PrefixCache = p.PrefixCache.add(r)
		if r.OutputTokens == 0 {
			c.Empty++
		}
		switch {
		case r.InputTokens == 0:
			t.Unknown++
		case r.AskedInput > 0 && r.InputTokens != r.AskedInput && r.Turn == 0:
			t.OtherIn++
		}
		// tokenizers differ by less at the joints of a text
		if r.InputTokens > 0 && r.InputTokens*10 < r.AskedInput*9 {
			t.ShortIn++
		}
		if r.AskedOutput > 0 && r.OutputTokens < r.AskedOutput {
			t.ShortOut++
		}
	}
}

// input returns the tokens of a prompt by the server's count, or else those that the profile asked for; 0: unknown.
func input(r *request) int {
	if r.InputTokens == 0 && r.Turn == 0 {
		return r.AskedInput
	}
	return r.InputTokens
}

// finish computes what follows from the counts, and adds the distributions of this pass to into.
func (p *pot) finish(into *Figures, by rule) {
	if p.counting {
		p.DurationS = sec(p.EndNS - p.StartNS)
		c, t := &p.Requests, &p.Tokens
		c.FailureRate = ratio(float64(c.Failed), float64(c.Failed+c.OK))
		t.MeanInput, t.MeanOut = ratio(float64(t.Input), float64(c.OK)), ratio(float64(t.Output), float64(c.OK))
		p.Throughput = Throughput{Requests: ratio(float64(c.OK), p.DurationS),
			InputTokens: ratio(float64(t.Input), p.DurationS), OutputTokens: ratio(float64(t.Output), p.DurationS),
			TotalTokens: ratio(float64(t.Input+t.Output), p.DurationS),
			SendRate:    ratio(float64(c.Total), sec(p.lastSent-p.StartNS))}
		if c := p.PrefixCache; c != nil {
			c.HitRate = ratio(float64(c.Cached), float64(c.Prompt))
		}
		p.Goodput = p.goods.result(p.DurationS)
		latency := into.Latency
		*into = p.Figures
		if latency != nil {
			into.Latency = latency
		}
	}
	for i := range p.columns {
		c := &p.columns[i]
		if d := c.distribution(by); d != nil {
			into.Latency[c.Name] = d
		}
	}
	into.check()
}

// check computes the residuals of the identities, if every success has latencies.
func (f *Figures) check() {
	l := f.Latency
	n := f.Tokens.MeanOut
	odd := f.Requests.Leavers + f.Requests.Slow
	if l[nameTTFT] == nil || l[nameTPOT] == nil || l[nameE2E] == nil || l[nameNTPOT] == nil || n == 0 || odd > 0 {
		return
	}
	first, each := l[nameTTFT].Mean, l[nameTPOT].Mean
	f.Consistency = &Consistency{E2E: l[nameE2E].Mean - (first + each*n), NTPOT: l[nameNTPOT].Mean - (first/n + each)}
}

// group is a set of pots by number.
type group struct {
	by   func(r *request) (key int, ok bool)
	pots map[int]*pot
	into *[]Part
}

// mostGroups bounds how many groups of one kind have figures of their own.
const mostGroups = 1000

func (g *group) add(r *request, fresh func(key int) *pot) {
	key, ok := g.by(r)
	if !ok {
		return
	}
	p := g.pots[key]
	if p == nil {
		if len(g.pots) == mostGroups {
			return
		}
		p = fresh(key)
		g.pots[key] = p
	}
	p.add(r)
}

func (g *group) keys() []int { return slices.Sorted(maps.Keys(g.pots)) }
