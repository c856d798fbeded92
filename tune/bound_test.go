package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// turns serves full-length runs around a rate, and returns the most likely turning.
func turns(sh shape, about float64, runs int) turning {
	const width = 0.03 // on either side
	g := sh.goal()
	off, valid := make([]float64, runs), make([]bool, runs)
	for i := range runs {
		off[i] = width * (2*(float64(i)+0.5)/float64(runs) - 1)
		v := &virtual{shape: sh, rng: rand.New(rand.NewPCG(uint64(1000+i), 13))}
		valid[i] = v.measure(g, Step{Kind: Confirm, Rate: about * math.Exp(off[i])}).Valid
	}
	best, found := math.Inf(-1), turning{}
	for at := -width; at <= width; at += width / 200 {
		for deviation := 0.003; deviation < width; deviation *= 1.03 {
			likely := 0.0
			for i := range off {
				chance := normal((at - off[i]) / deviation)
				if !valid[i] {
					chance = 1 - chance
				}
				likely += math.Log(chance + 1e-12)
			}
			if likely > best {
				best, found = likely, turning{rate: about * math.Exp(at), deviation: deviation}
			}
		}
	}
	return found
}

func square(v float64) float64 { return v * v }

// reach returns the margin below an estimate of the highest valid rate at which 5 % of the confirmations fail, and the
// share of confirmed rates within 3 % with that margin.
func reach(standardError, deviation float64) (margin, within float64) {
	const oneSided95, near = 1.645, 0.03
	margin = oneSided95 * math.Hypot(deviation, standardError)
	return margin, normal((near-margin)/standardError) - normal((-near-margin)/standardError)
}

// bisect searches by full-length runs, and decides at each rate by the majority of a number of runs. It returns the
// highest rate that was valid, and how many runs it took.
func bisect(capacity float64, majority int, valid func(rate float64) bool) (found float64, runs int) {
	const halvings = 7 // as in bisection
	high := capacity
	for range halvings {
		mid, good, bad := (found+high)/2, 0, 0
		for max(good, bad) <= majority/2 {
			if valid(mid) {
				good++
			} else {
				bad++
			}
		}
		if runs += good + bad; good > bad {
			found = mid
		} else {
			high = mid
		}
	}
	return found, runs
}

// TestBoundOfTheNoisyServer computes what any search could reach on the noisy server, for docs/explanation/tuning.md.
// Only the mean speed of the server and its deviation are unknown. The latencies are a function of the speeds in the
// intervals of 5 s. These are normal deviates, so their Fisher information has a closed form.
func TestBoundOfTheNoisyServer(t *testing.T) {
	runs := 64
	if n, err := strconv.Atoi(os.Getenv("TUNE_BENCH")); err == nil {
		runs = max(runs, 8*n)
	}
	const about, more, interval = 59.5, 0.03, 5.0
	sh := shapes[2]
	truth := turns(sh, about, runs)

	faster, noisier := sh, sh
	faster.base, faster.per = sh.base/(1+more), sh.per/(1+more)
	bySpeed := math.Log(turns(faster, about*(1+more), runs).rate/truth.rate) / math.Log(1+more)
	noisier.noise += 0.01
	byNoise := math.Log(turns(noisier, about, runs).rate/truth.rate) / 0.01

	total := bisection(sh.goal(), about)
	confirm := total / 7 / 0.95 // one in 20 fails, and is repeated
	least := func(share float64) float64 {
		n := (share*total - confirm) / interval
		return sh.noise * math.Hypot(bySpeed/math.Sqrt(n), byNoise/math.Sqrt(2*n))
	}
	fmt.Printf("noisy: runs turn INVALID at %.2f, deviation %.2f %%; rate by speed %.2f, by noise %.2f\n", truth.rate,
		100*truth.deviation, bySpeed, byNoise)
	for _, share := range []float64{0.2, 0.25, 0.3} {
		margin, within := reach(least(share), truth.deviation)
		fmt.Printf("%.0f %% of the time: least error %.2f %%, margin %.2f %%, within 3 %%: %.1f %%\n", 100*share,
			100*least(share), 100*margin, 100*within)
	}
	_, within := reach(least(0.3), truth.deviation)
	require.Greater(t, within, 0.95, "the goals do not exclude each other")
	_, within = reach(truth.deviation, truth.deviation) // from the verdicts of one run in place of the probes
	require.Less(t, within, 0.9)
	reportBisections(t, sh, truth, runs/8)
}

// reportBisections prints how accurate bisections by full-length runs are: some with runs of the virtual server, and
// many with runs that turn INVALID where its runs do.
func reportBisections(t *testing.T, sh shape, truth turning, served int) {
	rng := rand.New(rand.NewPCG(1, 17))
	drawn := func(rate float64) bool { return math.Log(rate/truth.rate) < truth.deviation*rng.NormFloat64() }
	seed := uint64(0)
	serve := func(rate float64) bool {
		seed++
		v := &virtual{shape: sh, rng: rand.New(rand.NewPCG(seed, 19))}
		return v.measure(sh.goal(), Step{Kind: Confirm, Rate: rate}).Valid
	}
	for _, c := range []struct {
		by              string
		tries, majority int
		valid           func(rate float64) bool
	}{{"served run", served, 1, serve}, {"run", 4000, 1, drawn}, {"majority of 3", 4000, 3, drawn},
		{"majority of 5", 4000, 5, drawn}} {
		var near, again, runs, sum, squares float64
		for range c.tries {
			found, n := bisect(math.Exp(0.03*rng.NormFloat64())/(sh.per*sh.meanTokens), c.majority, c.valid)
			off := math.Log(found / truth.rate)
			runs, sum, squares = runs+float64(n), sum+off, squares+off*off
			if math.Abs(off) <= 0.03 {
				near++
			}
			if !drawn(found) {
				again++
			}
		}
		n := float64(c.tries)
		deviation := math.Sqrt(squares/n - square(sum/n))
		margin, within := reach(deviation, truth.deviation)
		fmt.Printf("%d bisections by %s: %.1f runs, off by %.2f %% with a deviation of %.2f %%, within 3 %%: %.1f %%, "+
			"INVALID when run again: %.0f %%; with a margin of %.2f %% within 3 %%: %.1f %%\n", c.tries, c.by, runs/n,
			100*sum/n, 100*deviation, 100*near/n, 100*again/n, 100*margin, 100*within)
		require.GreaterOrEqual(t, near/n, 0.75)
	}
}
