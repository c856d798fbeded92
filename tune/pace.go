package tune

import (
	"encoding/binary"
	"math"
	"slices"
)

// reply is an answered query of a step, with times in s.
type reply struct {
	sample          int
	due, first, end float64
	tokens          int
}

// Pace is the speed of a server in one window of a step.
type Pace struct {
	InFlight float64 `json:"in_flight"`   // mean number of requests
	PerToken float64 `json:"per_token_s"` // s for a token of one request
}

// Settings of the windows.
const (
	windowTokens = 25   // tokens at the limit, for which a window lasts: a fraction of an answer
	mostWindows  = 2000 // of a step
	rounds       = 60   // of the iteration that solves for the speeds
	manyReplies  = 500  // that determine the extra tokens
	mostExtra    = 4.0  // tokens
	leastTokens  = 0.1  // of a request in a window that shows a pace
	leastFilled  = 0.25 // share of the usual weight that a window needs
)

// window returns the length of a window in s; 0: the time per token is not limited.
func (g *Goal) window() float64 {
	for _, l := range g.Limits {
		if l.Metric == TPOT {
			return windowTokens * l.Limit.Seconds()
		}
	}
	return 0
}

// pacesOf finds the tokens per second of one request in each window. The tokens of a reply after its first are the sum
// of those that the windows of its life yield, less a number that is the same for each reply and is returned: it is
// above zero if the server is already computing the next token when the first one arrives. So the replies are linear
// equations, which are solved by least squares. concurrency is that of a closed loop; 0: the replies are all that were
// in flight.
func pacesOf(replies []reply, concurrency int, window float64) (paces []Pace, extra float64) {
	replies = slices.DeleteFunc(slices.Clone(replies), func(r reply) bool {
		return r.tokens < 2 || !(0 <= r.due && r.due <= r.first && r.first < r.end)
	})
	last := 0.0
	for _, r := range replies {
		last = max(last, r.end)
	}
	if window <= 0 || last < window || last > mostWindows*window {
		return nil, 0
	}
	n := int(last / window) // the last window is incomplete
	a, tokens, ones, load := make([][]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for w := range a {
		a[w] = make([]float64, n)
	}
	for _, r := range replies {
		for w := r.firstWindow(window); w <= r.lastWindow(window, n); w++ {
			part := overlap(r.first, r.end, w, window)
			tokens[w] += part * float64(r.tokens-1)
			ones[w] += part
			for u := r.firstWindow(window); u <= r.lastWindow(window, n); u++ {
				a[w][u] += part * overlap(r.first, r.end, u, window)
			}
		}
		for w := int(r.due / window); w <= r.lastWindow(window, n); w++ {
			load[w] += overlap(r.due, r.end, w, window) / window
		}
	}
	speeds, more := solve(a, tokens), solve(a, ones)
	if len(replies) >= manyReplies {
		extra = extraTokens(replies, speeds, more, window)
	}
	weights := make([]float64, n)
	for w := range a {
		speeds[w] += extra * more[w]
		weights[w] = a[w][w]
	}
	slices.Sort(weights)
	for w, v := range speeds[:n-1] { // the last queries of a step determine its end badly
		if concurrency > 0 {
			load[w] = float64(concurrency)
		}
		if v*window > leastTokens && a[w][w] >= leastFilled*weights[n/2] {
			paces = append(paces, Pace{load[w], 1 / v})
		}
	}
	return paces, extra
}

func (r *reply) firstWindow(window float64) int { return int(r.first / window) }

func (r *reply) lastWindow(window float64, n int) int { return min(int(r.end/window), n-1) }

// extraTokens finds the number of tokens that, added to each reply, makes the speeds fit best. more is what one token
// more for each reply adds to the speeds.
func extraTokens(replies []reply, speeds, more []float64, window float64) float64 {
	n := len(speeds)
	var sum, squares float64
	for _, r := range replies {
		if r.end >= float64(n)*window {
			continue
		}
		without, one := 1-float64(r.tokens), -1.0
		for w := r.firstWindow(window); w <= r.lastWindow(window, n); w++ {
			part := overlap(r.first, r.end, w, window)
			without, one = without+part*speeds[w], one+part*more[w]
		}
		sum, squares = sum+without*one, squares+one*one
	}
	if extra := -sum / squares; math.Abs(extra) < mostExtra {
		return extra
	}
	return 0 // answers of the same length do not determine it
}

// overlap returns how long a time from a begin to an end is in a window.
func overlap(from, to float64, w int, window float64) float64 {
	return max(0, min(to, float64(w+1)*window)-max(from, float64(w)*window))
}

// solve solves a positive semidefinite system of linear equations (Gauss and Seidel).
func solve(a [][]float64, y []float64) []float64 {
	x := make([]float64, len(y))
	for range rounds {
		for w := range x {
			if a[w][w] <= 0 {
				continue
			}
			rest := y[w]
			for u, c := range a[w] {
				rest -= c * x[u]
			}
			x[w] += rest / a[w][w]
		}
	}
	return x
}

// firstToken returns the median time to the first token in s; 0: no reply has one.
func firstToken(replies []reply) float64 {
	var list []float64
	for _, r := range replies {
		if 0 <= r.due && r.due <= r.first {
			list = append(list, r.first-r.due)
		}
	}
	return medianOf(list)
}

// Lengths are the tokens of answers, as a list of varints by sample; 0: unknown. In JSON they are a short text.
type Lengths []byte

// lengthsOf returns the lengths of replies.
func lengthsOf(replies []reply) (l Lengths) {
	var list []int
	for _, r := range replies {
		for len(list) <= r.sample {
			list = append(list, 0)
		}
		list[r.sample] = r.tokens
	}
	for _, tokens := range list {
		l = binary.AppendUvarint(l, uint64(tokens))
	}
	return l
}

// each calls a function for each known length.
func (l Lengths) each(do func(sample, tokens int)) {
	for sample := 0; len(l) > 0; sample++ {
		tokens, n := binary.Uvarint(l)
		if n <= 0 {
			return
		}
		if l = l[n:]; tokens > 0 {
			do(sample, int(min(tokens, mostTokens)))
		}
	}
}

// mostTokens bounds the length of an answer.
const mostTokens = 1 << 20
