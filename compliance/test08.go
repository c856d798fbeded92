package compliance

import (
	"fmt"
	"math"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// officialTolerance is the largest relative difference of two entropies that passes (docs/reference/audits.md#test08).
const officialTolerance float64 = 0.001

// maxPredictions limits the memory for the audit's answers to 256 MiB; TEST08 logs about 4096 answers.
const maxPredictions = 64 << 20

// query identifies a recommendation by time step and query.
type query struct{ step, query int64 }

func (q query) String() string { return fmt.Sprintf("(%d, %d)", q.step, q.query) }

// shownAnswer is an answer of the audit's run. Its entropies are set after the accuracy run's answer to the same query
// has been read.
type shownAnswer struct {
	query       query
	predictions []float32
	matched     bool
	ref, test   float64
}

// entropyLog keeps the audit's answers, which are few, in memory. It reads the many answers of the accuracy run as a
// stream.
type entropyLog struct {
	shown   []shownAnswer
	byQuery map[query][]int
	kept    int
	entries int // number of entries in the log of the accuracy run
}

// test08 compares the normalised entropy of logged answers with the accuracy run's.
func (a *audit) test08() error {
	share := officialTolerance
	if a.Tolerance != nil {
		share = *a.Tolerance
	}
	l := &entropyLog{byQuery: map[query][]int{}}
	for _, part := range []struct {
		folder string
		take   func(*mllog.AccuracyEntry) error
	}{{a.Compliance, l.take}, {a.ReferenceAccuracy, l.reference}} {
		path := joined(part.folder, mllog.AccuracyName)
		if _, err := readAccuracy(path, part.take); err != nil {
			if unreadable(err) {
				return err
			}
			a.out.giveUp(path, err)
			return nil
		}
	}
	a.judge08(l, share)
	return nil
}

// floats reads little-endian float32 elements.
func floats(data []byte) ([]float32, error) {
	if len(data)%4 != 0 {
		return nil, fmt.Errorf("it has %d bytes, which is not a multiple of the size of float32", len(data))
	}
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = float32(Float32.value(data[4*i:]))
	}
	return out, nil
}

// whole truncates a number, such as a count or an id, to an integer.
func whole(f float32) (int64, error) {
	if v := float64(f); v == v && math.Abs(v) < 1<<62 {
		return int64(v), nil
	}
	return 0, fmt.Errorf("found %v, expected an integer", f)
}

func head(values []float32) (q query, err error) {
	if len(values) < 2 {
		return q, fmt.Errorf("it has %d values, but time step and query need two", len(values))
	}
	if q.step, err = whole(values[0]); err == nil {
		q.query, err = whole(values[1])
	}
	return q, err
}

func (l *entropyLog) take(e *mllog.AccuracyEntry) error {
	values, err := floats(e.Data)
	if err != nil {
		return err
	}
	q, err := head(values)
	if err != nil {
		return err
	}
	if l.kept += len(values); l.kept > maxPredictions {
		return fmt.Errorf("the log has more than %d predictions: was the audit.config in force?", maxPredictions)
	}
	l.byQuery[q] = append(l.byQuery[q], len(l.shown))
	l.shown = append(l.shown, shownAnswer{query: q, predictions: values[2:]})
	return nil
}

// reference compares an answer with every shown answer to the same query. If a query is repeated, the last one counts.
func (l *entropyLog) reference(e *mllog.AccuracyEntry) error {
	l.entries++
	values, err := floats(e.Data)
	if err != nil {
		return err
	}
	if len(values) == 0 {
		return fmt.Errorf("it is empty")
	}
	n, err := whole(values[len(values)-1])
	if err != nil {
		return err
	}
	if n < 0 || n > int64(len(values)) || int64(len(values)) != 3+3*n {
		return fmt.Errorf("it has %d values, but %d candidates need %d", len(values), n, 3+3*n)
	}
	q, err := head(values)
	if err != nil {
		return err
	}
	predictions, labels, weights := values[2:2+n], values[2+n:2+2*n], values[2+2*n:2+3*n]
	for _, i := range l.byQuery[q] {
		s := &l.shown[i]
		if len(s.predictions) != len(labels) {
			return fmt.Errorf("%v has %d candidates, but %d in the audit's run", q, len(labels), len(s.predictions))
		}
		s.matched, s.ref, s.test = true, entropy(predictions, labels, weights), entropy(s.predictions, labels, weights)
	}
	return nil
}

func (a *audit) judge08(l *entropyLog, share float64) {
	var b strings.Builder
	b.WriteString("Verifying accuracy. This might take a while...\nReading accuracy mode results...\nReading " +
		"performance mode results...\n")
	matched, differ := 0, 0
	for i := range l.shown {
		s := &l.shown[i]
		if !s.matched {
			continue
		}
		matched++
		if text := s.mismatch(share); text != "" {
			differ++
			b.WriteString("  NE mismatch at " + s.query.String() + ": " + text + "\n")
			a.out.add(Fatal, "entropy_differs", joined(a.Compliance, mllog.AccuracyName), "query %v: %s", s.query, text)
		}
	}
	unmatched := len(l.shown) - matched
	a.out.Pass = differ == 0 && matched > 0 && unmatched == 0
	fmt.Fprintf(&b, "\nnum_acc_log_entries = %d\nnum_perf_log_entries = %d\nnum_matched = %d\nnum_unmatched = "+
		"%d\nnum_ne_mismatch = %d\ntolerance = %.2f%%\n",
		l.entries, len(l.shown), matched, unmatched, differ, share*100)
	b.WriteString("\n" + verdict(a.out.Pass) + "\nTEST08 verification complete\n")
	a.out.Files["verify_accuracy.txt"] = b.String()
	a.out.Figures["records"], a.out.Figures["matched"], a.out.Figures["mismatches"] = len(l.shown), matched, differ
	if matched == 0 || unmatched > 0 {
		a.out.add(Fatal, "sample_unknown", joined(a.Compliance, mllog.AccuracyName),
			"%d of %d answers are not in the accuracy run", unmatched, len(l.shown))
	}
	if share > officialTolerance {
		a.out.add(Fatal, "threshold_weakened", "", "the tolerance is %v, but the rules require %v", share, officialTolerance)
	}
}

// mismatch describes the difference if two entropies differ too much, and otherwise returns "". There is no relative
// difference to an entropy of 0.
func (s *shownAnswer) mismatch(share float64) string {
	switch {
	case s.ref == 0 && s.test == 0:
		return ""
	case s.ref == 0 || s.test == 0:
		return "acc_ne=" + pyrepr.Float(s.ref) + ", perf_ne=" + pyrepr.Float(s.test)
	}
	diff := math.Abs(s.test-s.ref) / math.Abs(s.ref)
	if diff <= share || diff != diff {
		return ""
	}
	return fmt.Sprintf("acc_ne=%.6f, perf_ne=%.6f, diff=%.4f%%", s.ref, s.test, diff*100)
}

// edge is the distance that clip keeps predictions and labels from 0 and 1, where the logarithm is infinite.
const edge = 1e-7

func clip(f float32) float32 { return min(max(f, float32(edge)), float32(1-edge)) }

func ln(f float32) float32 { return float32(math.Log(float64(f))) }

// entropy returns the normalised entropy of predictions. Like the official script, it uses single precision for the
// sums and double precision after them.
func entropy(predictions, labels, weights []float32) float64 {
	cross, weighted := make([]float32, len(labels)), make([]float32, len(labels))
	for i, w := range weights {
		p, y := clip(predictions[i]), clip(labels[i])
		positive, negative := float32(y*ln(p)), float32((1-y)*ln(1-p))
		cross[i] = w * float32(positive+negative)
		weighted[i] = w * y
	}
	total := pairwise(weights)
	if total == 0 {
		return 0
	}
	p := min(max(float64(pairwise(weighted)/total), edge), 1-edge)
	baseline := -p*math.Log(p) - (1-p)*math.Log(1-p)
	if baseline == 0 {
		return 0
	}
	return float64(-pairwise(cross)) / (baseline * float64(total))
}

// pairwise adds in the order of the official script's library, so that the last digits agree: eight parallel sums for
// up to 128 elements, else the sums of both halves.
func pairwise(v []float32) float32 {
	const lanes, block = 8, 128
	switch n := len(v); {
	case n < lanes:
		var sum float32
		for _, f := range v {
			sum += f
		}
		return sum
	case n <= block:
		r := [lanes]float32(v)
		whole := n - n%lanes
		for i := lanes; i < whole; i++ {
			r[i%lanes] += v[i]
		}
		sum := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		for _, f := range v[whole:] {
			sum += f
		}
		return sum
	default:
		half := n / 2
		half -= half % lanes
		return pairwise(v[:half]) + pairwise(v[half:])
	}
}
