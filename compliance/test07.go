package compliance

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// officialScore finds the score in the output of the reference evaluation.
const officialScore = `'exact_match':\s*([\d.]+)`

var ruler = strings.Repeat("=", 80)

// test07 judges the score over all samples of the audit's own data set.
func (a *audit) test07() error {
	var rules float64
	if a.asked != nil {
		rules = a.asked.Threshold
	}
	threshold, err := a.threshold("test07_accuracy_threshold", a.Threshold, rules, false)
	if err != nil {
		return err
	}
	match := a.ScoreMatch
	if match == "" {
		match = officialScore
	}
	expression, err := regexp.Compile(match)
	if err != nil {
		return fmt.Errorf("the expression that finds the score: %w", err)
	}
	printed := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(a.Evaluator)
	a.judge07(printed, expression, threshold.value)
	if rules != 0 && threshold.value < rules {
		a.out.add(Fatal, "threshold_weakened", a.AuditFile, "the threshold is %s (%s) and the rules require %s",
			pyrepr.Float(threshold.value), threshold.from, pyrepr.Float(rules))
	}
	return a.samples07()
}

func (a *audit) judge07(printed string, expression *regexp.Regexp, threshold float64) {
	var b strings.Builder
	b.WriteString(printed + "\n" + ruler + "\nTEST07 Verification Summary\n" + ruler + "\n")
	score, err := findScore(expression, printed)
	if err != nil {
		b.WriteString("Error: Could not parse accuracy score\n")
		a.out.add(Fatal, "score_missing", "", "no score in the output of the evaluation: %v", err)
	} else {
		a.out.Pass = score >= threshold
		a.out.figure("score", score)
		a.out.figure("threshold", threshold)
		fmt.Fprintf(&b, "Accuracy score: %s\nAccuracy threshold: %s\nAccuracy check pass: %s\n", pyrepr.Float(score),
			pyrepr.Float(threshold), pyBool(a.out.Pass))
		if !a.out.Pass {
			a.out.add(Fatal, "accuracy_below_target", "", "the score is %s; at least %s is required", pyrepr.Float(score),
				pyrepr.Float(threshold))
		}
	}
	b.WriteString(verdict(a.out.Pass) + "\n")
	a.out.Files["verify_accuracy.txt"] = b.String()
	if !a.out.Pass && strings.Contains(printed, "TEST PASS") {
		a.out.add(Fatal, "pass_printed", "", "the evaluation itself printed TEST PASS, for which the submission checker "+
			"looks anywhere in the file")
	}
}

func findScore(expression *regexp.Regexp, printed string) (float64, error) {
	found := expression.FindStringSubmatch(printed)
	switch {
	case found == nil:
		return 0, fmt.Errorf("nothing matches %s", expression)
	case len(found) < 2:
		return 0, fmt.Errorf("%s has no group for the score", expression)
	}
	return pyrepr.ParseFloat(found[1])
}

// samples07 checks the records of the accuracy log, which the official script never opens.
func (a *audit) samples07() error {
	path, s := a.log(mllog.AccuracyName), newSamples()
	_, err := readAccuracy(path, func(e *mllog.AccuracyEntry) error {
		s.take(a, path, e.SeqID, e.QSLIdx)
		if len(e.Data) == 0 {
			a.out.add(Fatal, "empty_output", path, "record %d is an empty answer", e.Record)
		}
		return nil
	})
	switch {
	case err != nil && unreadable(err):
		return err
	case err != nil:
		a.out.add(Fatal, codeBroken, path, "%v", err)
	}
	s.check(a, path)
	return nil
}
