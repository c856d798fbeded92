package tune

import "math"

// The grid of a Curve.
const (
	rateSteps  = 400
	slopeSteps = 24
	leastSlope = 10.0  // change of the log-odds of a late query by the logarithm of the rate
	mostSlope  = 400.0 // 4 per percent: a queue that grows without bound
)

// far is how many times the bearable share an observation may exceed before only its direction counts. The logistic
// form is valid near the threshold, and a probe far above it must not distort the fit.
const far = 6.0

// stray is the probability that a count is unrelated to its rate, for example after a disturbance of the server. It
// bounds the weight of one count against all others. LoadGen's early stopping is wrong with the same probability.
const stray = 0.01

// Grid is what the posterior is computed on: rates and slopes, both on a logarithmic scale.
type Grid struct {
	rates    [rateSteps]float64
	shares   [rateSteps]float64 // of late queries, that a full-length run at that rate may have
	logShare [rateSteps]float64 // their log-odds
	slopes   [slopeSteps]float64
	bearable func(rate float64) float64
}

// NewGrid returns a grid between two rates. bearable returns the share of late queries that a run of the full length at
// a rate may have.
func NewGrid(low, high float64, bearable func(rate float64) float64) *Grid {
	g := &Grid{bearable: bearable}
	for i := range g.rates {
		g.rates[i] = low * math.Pow(high/low, float64(i)/(rateSteps-1))
		g.shares[i] = bearable(g.rates[i])
		g.logShare[i] = math.Log(g.shares[i] / (1 - g.shares[i]))
	}
	for k := range g.slopes {
		g.slopes[k] = leastSlope * math.Pow(mostSlope/leastSlope, float64(k)/(slopeSteps-1))
	}
	return g
}

// Curve is the posterior of one limit. It models the log-odds of a late query as linear in the logarithm of the rate,
// with two unknowns: the highest rate that meets the limit at full length, and the slope there.
type Curve struct {
	*Grid
	logPost [rateSteps][slopeSteps]float64
	weights *[rateSteps][slopeSteps]float64 // of logPost; nil: not computed
}

// Prior is what the closed loops tell of the highest valid rate before the first probe. The lowest rate of all limits
// counts.
type Prior struct {
	Low, Likely, High float64 // probably from Low to Likely, less probably up to High, hardly elsewhere
	Limits            int     // number of limits
}

// Relative probabilities of a rate, in proportion to one between Low and Likely.
const (
	lessLikely = 0.15
	unlikely   = 0.02
)

func (p *Prior) weight(rate float64) float64 {
	switch {
	case rate < p.Low || rate > p.High:
		return unlikely
	case rate > p.Likely:
		return lessLikely
	}
	return 1
}

// NewCurve returns the prior of one limit. Each slope is equally likely. If n limits exceed a rate independently with
// probability q each, the lowest of them does with q^n: so q is the n-th root of what the prior has for the lowest.
func NewCurve(g *Grid, prior Prior) *Curve {
	c := &Curve{Grid: g}
	var from [rateSteps + 1]float64 // weight of a rate and all above
	for i := rateSteps - 1; i >= 0; i-- {
		from[i] = from[i+1] + prior.weight(g.rates[i])
	}
	for i := range c.logPost {
		root := 1 / float64(prior.Limits)
		weight := math.Log(math.Pow(from[i], root) - math.Pow(from[i+1], root))
		for k := range c.logPost[i] {
			c.logPost[i][k] = weight
		}
	}
	return c
}

// late returns the share of late queries at a rate, if the grid's i-th rate is the highest valid one and its k-th slope
// the slope.
func (c *Curve) late(rate float64, i, k int) float64 {
	odds := c.logShare[i] + c.slopes[k]*math.Log(rate/c.rates[i])
	return 1 / (1 + math.Exp(-max(-30, min(30, odds))))
}

// Add updates the posterior with the late queries of a run, or with those that a probe predicts for one. bursts is
// how many independent bursts of late queries a barely valid run has; it limits the weight of the count.
func (c *Curve) Add(rate float64, queries int, late, bursts float64) {
	if queries == 0 {
		return
	}
	c.weights = nil
	share := c.bearable(rate)
	weight := min(float64(queries), bursts/share)
	most := min(far*share, (1+share)/2)
	seen := min(late/float64(queries), most)
	for i := range c.rates {
		for k := range c.slopes {
			p := c.late(rate, i, k)
			if seen == most && p > most {
				continue // as many as seen, or more: only the direction counts
			}
			fit := math.Exp(-weight * divergence(seen, p))
			c.logPost[i][k] += math.Log((1-stray)*fit + stray)
		}
	}
}

// divergence is the loss of log-likelihood per query if the probability p explains a share of late queries instead of
// the share itself.
func divergence(seen, p float64) float64 {
	d := -(1 - seen) * math.Log((1-p)/(1-seen))
	if seen > 0 {
		d -= seen * math.Log(p/seen)
	}
	return d
}

// posterior returns the weights, which sum to 1.
func (c *Curve) posterior() *[rateSteps][slopeSteps]float64 {
	if c.weights != nil {
		return c.weights
	}
	top := math.Inf(-1)
	for i := range c.logPost {
		for _, v := range c.logPost[i] {
			top = max(top, v)
		}
	}
	w, sum := new([rateSteps][slopeSteps]float64), 0.0
	for i := range w {
		for k := range w[i] {
			w[i][k] = math.Exp(c.logPost[i][k] - top)
			sum += w[i][k]
		}
	}
	for i := range w {
		for k := range w[i] {
			w[i][k] /= sum
		}
	}
	c.weights = w
	return w
}

// above returns, for each rate of the grid, the probability that the highest valid rate is not below it.
func (c *Curve) above() [rateSteps]float64 {
	w, sum := c.posterior(), 0.0
	var out [rateSteps]float64
	for i := rateSteps - 1; i >= 0; i-- {
		for _, v := range w[i] {
			sum += v
		}
		out[i] = sum
	}
	return out
}

// Valid returns the probability that a run of the given number of queries at a rate has no more late ones than the
// given share: over the posterior, and over the chance of that run.
func (c *Curve) Valid(rate float64, queries int, share, bursts float64) float64 {
	w, sum := c.posterior(), 0.0
	bearable := share * float64(queries)
	dispersion := max(1, bearable/bursts)
	for i := range w {
		for k, v := range w[i] {
			if v < 1e-9 {
				continue
			}
			p := c.late(rate, i, k)
			mean := p * float64(queries)
			deviation := math.Sqrt(dispersion*mean*(1-p)) + 1e-9
			sum += v * normal((bearable+0.5-mean)/deviation)
		}
	}
	return sum
}

// normal is the standard normal distribution function.
func normal(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
