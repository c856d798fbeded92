package compliance

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// tokenSize is the size in bytes that TEST09 assumes for a token id.
const tokenSize = 4

// lengths holds the number of output tokens of each answer, because the deviation can be computed only after the mean.
type lengths struct {
	each      []int32
	sum       int64
	low, high int32
}

func (l *lengths) take(n int) {
	v := int32(n) // a record is at most maxObject bytes
	if len(l.each) == 0 {
		l.low = v
	}
	l.low, l.high = min(l.low, v), max(l.high, v)
	l.each = append(l.each, v)
	l.sum += int64(v)
}

func (l *lengths) mean() float64 { return float64(l.sum) / float64(len(l.each)) }

// deviation returns the population's standard deviation. Like the official script, it adds in the order of the log.
func (l *lengths) deviation() float64 {
	mean, sum := l.mean(), 0.0
	for _, n := range l.each {
		d := float64(n) - mean
		sum += float64(d * d) // no fused multiply and add
	}
	return math.Sqrt(sum / float64(len(l.each)))
}

// test09 judges the mean number of output tokens.
func (a *audit) test09() error {
	var rules Audit
	if a.asked != nil {
		rules = *a.asked
	}
	low, err := a.threshold(minTokensKey, a.MinTokens, rules.MinTokens, true)
	if err != nil {
		return err
	}
	high, err := a.threshold("test09_max_output_tokens", a.MaxTokens, rules.MaxTokens, true)
	if err != nil {
		return err
	}
	l, err := a.lengths09()
	if err != nil || l == nil {
		return err
	}
	mean := l.mean()
	a.out.Pass = mean >= low.value && mean <= high.value
	a.out.Files["verify_output_len.txt"] = text09(l, low.value, high.value)
	a.out.figure("mean_output_tokens", mean)
	a.out.figure("min_output_tokens", low.value)
	a.out.figure("max_output_tokens", high.value)
	if !a.out.Pass {
		a.out.add(Fatal, "output_length", a.log(mllog.AccuracyName), "the mean output is %.2f tokens, outside of %s to %s",
			mean, pyrepr.Float(low.value), pyrepr.Float(high.value))
	}
	if rules.MinTokens > 0 && (low.value < rules.MinTokens || high.value > rules.MaxTokens) {
		a.out.add(Fatal, "threshold_weakened", a.AuditFile, "the bounds are %s (%s) and %s (%s); the rules require %s and %s",
			pyrepr.Float(low.value), low.from, pyrepr.Float(high.value), high.from, pyrepr.Float(rules.MinTokens),
			pyrepr.Float(rules.MaxTokens))
	}
	return nil
}

// lengths09 returns nil if the log is broken or empty, and adds a finding.
func (a *audit) lengths09() (*lengths, error) {
	path := a.log(mllog.AccuracyName)
	f, err := atomicfile.OpenBelow(filepath.Split(path))
	if err != nil {
		return nil, fmt.Errorf("reading LoadGen's accuracy log: %w", err)
	}
	defer f.Close()
	l, s := &lengths{}, newSamples()
	form, err := readRecords(f, func(r *record) error {
		l.take(len(r.data) / tokenSize)
		s.take(a, path, r.seq, r.sample)
		a.strict09(path, r)
		return nil
	})
	if err != nil && unreadable(err) {
		return nil, err
	}
	s.check(a, path)
	if err == nil && len(l.each) == 0 {
		err = fmt.Errorf("the log has no record")
	}
	if err != nil {
		a.out.giveUp(path, err)
		return nil, nil
	}
	if form.truncated {
		a.out.add(Fatal, "log_truncated", path, "the log ends after record %d without its closing bracket: the run was cut "+
			"off", len(l.each))
	}
	if !form.array {
		a.out.add(Warning, "log_form", path, "the records are not in a JSON array, which LoadGen writes: another "+
			"program has changed the log")
	}
	return l, nil
}

func (a *audit) strict09(path string, r *record) {
	tokens := len(r.data) / tokenSize
	switch {
	case r.dataErr != nil:
		a.out.add(Fatal, "record_broken", path, "record %d: %v", r.number, r.dataErr)
		return
	case tokens == 0:
		a.out.add(Fatal, "empty_output", path, "record %d is an empty answer", r.number)
	case len(r.data)%tokenSize != 0:
		a.out.add(Fatal, "record_broken", path, "record %d has %d bytes, which is not a multiple of the size of a token id",
			r.number, len(r.data))
	}
	if r.hasCount && r.tokens != int64(tokens) {
		a.out.add(Fatal, "token_count", path, "record %d has token_count %d, but its answer has %d tokens", r.number,
			r.tokens, tokens)
	}
	if a.Row == nil || a.Row.Vocabulary == 0 {
		return
	}
	for at := 0; at+tokenSize <= len(r.data); at += tokenSize {
		if id := Int32.value(r.data[at:]); id < 0 || id >= float64(a.Row.Vocabulary) {
			a.out.add(Fatal, "token_range", path, "record %d has %v, expected a token id below %d: are the answers "+
				"text?", r.number, id, a.Row.Vocabulary)
			return
		}
	}
}

func text09(l *lengths, low, high float64) string {
	mean := l.mean()
	var b strings.Builder
	b.WriteString(ruler + "\nTEST09: Verify Output Token Length in Performance Mode\n" + ruler + "\n\n")
	b.WriteString("Output Token Length Statistics\n" + strings.Repeat("-", 40) + "\n")
	fmt.Fprintf(&b, "Total samples: %d\nMean output tokens: %.2f\nMin output tokens: %d\nMax output tokens: %d\nStd "+
		"deviation: %.2f\n",
		len(l.each), mean, l.low, l.high, l.deviation())
	b.WriteString("\n" + ruler + "\nVerification Results\n" + ruler + "\n")
	fmt.Fprintf(&b, "Mean output tokens: %.2f\nMin threshold: %s\nMax threshold: %s\nMin check pass: %s\nMax check "+
		"pass: %s\n",
		mean, pyrepr.Float(low), pyrepr.Float(high), pyBool(mean >= low), pyBool(mean <= high))
	b.WriteString("\n" + verdict(mean >= low && mean <= high) + "\n")
	return b.String()
}
