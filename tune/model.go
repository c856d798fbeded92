package tune

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/schedule"
)

// model is a server whose time per token grows linearly with the requests in flight, and varies from window to window.
type model struct {
	goal      *Goal
	limit     float64 // s per token
	window    float64 // s
	base, per float64 // s of a token: base + per*requests in flight
	first     float64 // s to the first token, by the longest step
	extra     float64 // tokens that the server computes in addition to those of each answer, by the longest step
	noise     []float64
	known     map[int]int // tokens of the answers, by sample
	lengths   []int       // those of known, in the order of the samples
}

// Settings of the model.
const (
	nearLimit    = 0.6  // deviation of the logarithm of the time per token, of the weight of a window
	ofNoise      = 0.65 // likewise, within which a window shows the noise
	outlier      = 4    // deviations
	fromMedian   = 1.48 // a standard deviation, in median absolute deviations of a normal distribution
	leastNoise   = 12   // windows that a model needs
	leastBlocks  = 4    // that its simulation needs
	beyond       = 1.1  // times the measured requests in flight, to which the line is extended
	noiseBlock   = 8    // windows
	summed       = 8    // resampled series in a simulated run
	modelRuns    = 64   // simulated
	modelQueries = 1 << 21
	usualSlope   = 230 // of the logarithm of the late queries by that of the rate
	mostTries    = 12
	closeExcess  = 0.1
	mostChange   = 0.03   // of the logarithm of the rate, in one try
	lineError    = 0.0085 // standard error of the estimate, because a server is not exactly like the model
	oneSided95   = 1.645
)

// newModel fits a model to the windows of all steps; nil: they do not determine it.
func newModel(g *Goal, steps []Measured) *model {
	m := &model{goal: g, window: g.window(), known: map[int]int{}}
	for _, l := range g.Limits {
		if l.Metric == TPOT {
			m.limit = l.Limit.Seconds()
		}
	}
	var paces []Pace
	most, longest := 0.0, 0
	for i := range steps {
		if n := len(steps[i].Paces); n > longest {
			longest, m.extra, m.first = n, steps[i].Extra, steps[i].First
		}
		paces = append(paces, steps[i].Paces...)
		steps[i].Lengths.each(func(sample, tokens int) { m.known[sample] = tokens })
		for _, p := range steps[i].Paces {
			most = max(most, p.InFlight)
		}
	}
	if m.line(paces); !(m.base > 0 && m.per > 0) || (m.limit-m.base)/m.per > beyond*most {
		return nil
	}
	if m.residuals(paces); len(m.noise) < leastNoise || len(m.known) == 0 {
		return nil
	}
	samples := make([]int, 0, len(m.known))
	for s := range m.known {
		samples = append(samples, s)
	}
	slices.Sort(samples)
	for _, s := range samples {
		m.lengths = append(m.lengths, m.known[s])
	}
	return m
}

// line fits the time per token to the requests in flight. Windows near the limit count most.
func (m *model) line(paces []Pace) {
	var sw, sx, sy, sxx, sxy float64
	for _, p := range paces {
		off := math.Log(p.PerToken/m.limit) / nearLimit
		w := math.Exp(-off*off/2) / (p.PerToken * p.PerToken)
		sw, sx, sy = sw+w, sx+w*p.InFlight, sy+w*p.PerToken
		sxx, sxy = sxx+w*p.InFlight*p.InFlight, sxy+w*p.InFlight*p.PerToken
	}
	m.per = (sw*sxy - sx*sy) / (sw*sxx - sx*sx)
	m.base = (sy - m.per*sx) / sw
}

// residuals finds the noise: the logarithms of the ratios of measured windows to the line, without outliers.
func (m *model) residuals(paces []Pace) {
	for _, p := range paces {
		if math.Abs(math.Log(p.PerToken/m.limit)) < ofNoise {
			m.noise = append(m.noise, math.Log(p.PerToken/(m.base+m.per*p.InFlight)))
		}
	}
	middle := medianOf(m.noise)
	away := make([]float64, len(m.noise))
	for i, e := range m.noise {
		away[i] = math.Abs(e - middle)
	}
	most := outlier * fromMedian * medianOf(away)
	m.noise = slices.DeleteFunc(m.noise, func(e float64) bool { return math.Abs(e-middle) > most })
}

func medianOf(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// moments returns the mean and the standard deviation.
func moments(list []float64) (mean, deviation float64) {
	for _, v := range list {
		mean += v / float64(len(list))
	}
	for _, v := range list {
		deviation += (v - mean) * (v - mean) / float64(max(len(list)-1, 1))
	}
	return mean, math.Sqrt(deviation)
}

// tokens returns the number of tokens of the answer to a sample. An unknown one is as long as that of another sample.
func (m *model) tokens(sample int) float64 {
	const step = 7919 // a prime: neighbours get lengths from all over the list
	t, ok := m.known[sample]
	if !ok {
		t = m.lengths[sample*step%len(m.lengths)]
	}
	return float64(max(t, 2))
}

// turning is where full-length runs turn INVALID: the rate at which half of them are, the standard deviation of its
// logarithm from run to run, and the standard error of the logarithm of the rate.
type turning struct{ rate, deviation, err float64 }

// margin returns how far below the turning, in the logarithm of the rate, one run in 20 is INVALID.
func (t *turning) margin() float64 {
	return oneSided95 * math.Hypot(t.deviation, math.Hypot(t.err, lineError))
}

// turning simulates full-length runs, each with another order of the noise, and finds the rate at which each turns
// INVALID. order returns the samples of a run.
func (m *model) turning(guess float64, order func(queries int) []int) *turning {
	most := m.goal.Queries(2 * guess)
	if most > modelQueries || len(m.noise) < leastBlocks*noiseBlock {
		return nil
	}
	r := replay{model: m, due: make([]float64, most), tokens: make([]float64, most),
		slope: usualSlope}
	for i, s := range order(most) {
		r.tokens[i] = m.tokens(s)
	}
	r.deltas, r.drawn = schedule.ServerDeltas(m.goal.Load.Seed, guess, most), guess
	var turns []float64
	at := math.Log(guess)
	for k, noise := range m.noises(int(m.goal.Duration(guess).Seconds()/m.window) + 1) {
		if k > 0 {
			at, _ = moments(turns)
		}
		turns = append(turns, r.turn(at, noise))
	}
	_, deviation := moments(turns)
	return &turning{math.Exp(medianOf(turns)), deviation, m.standardError()}
}

// noises returns the factors of the time per token in the windows of each simulated run. Their logarithms are sums of
// resampled noise, so they are about normal with the mean, the variance and the correlation of the noise: the few
// windows that were measured tell nothing else. They are drawn in blocks of neighbours, because noise may last longer
// than a window, and each block is used equally often.
func (m *model) noises(windows int) [][]float64 {
	rng := rand.New(rand.NewPCG(1, 1))
	mean, _ := moments(m.noise)
	list := make([][]float64, modelRuns)
	for k := range list {
		list[k] = make([]float64, windows)
	}
	for range summed {
		var deck []int
		for _, run := range list {
			for w := range run {
				if w%noiseBlock == 0 {
					if deck = deck[min(1, len(deck)):]; len(deck) == 0 {
						deck = rng.Perm(len(m.noise))
					}
				}
				run[w] += (m.noise[(deck[0]+w%noiseBlock)%len(m.noise)] - mean) / math.Sqrt(float64(summed))
			}
		}
	}
	for _, run := range list {
		for w, sum := range run {
			run[w] = math.Exp(mean + sum)
		}
	}
	return list
}

// standardError returns that of the logarithm of the rate, by the means of blocks of the noise.
func (m *model) standardError() float64 {
	var means []float64
	for i := 0; i+noiseBlock <= len(m.noise); i += noiseBlock {
		mean, _ := moments(m.noise[i : i+noiseBlock])
		means = append(means, mean)
	}
	_, deviation := moments(means)
	return m.limit / (m.limit - m.base) * deviation / math.Sqrt(float64(len(means)))
}
