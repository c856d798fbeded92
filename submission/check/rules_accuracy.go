package check

import (
	"fmt"
	"path"
	"regexp"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// maxAccuracyLog is the size of a truncated accuracy log, in bytes.
const maxAccuracyLog = 10 << 10

// accuracyRules look at the scores and the truncated log (docs/reference/submission-rules.md#accuracy). Open records
// scores and asks for none.
var accuracyRules = []Rule{
	{ID: "scores", Class: Score, Severity: Error, level: resultLevel,
		Advice: "score the accuracy run and write the figures there", look: scoresThere},
	{ID: "score-missing", Class: Score, Severity: Error, level: resultLevel,
		when: []condition{scored, byLoadGen, enforced},
		Advice: "write the scorer's output as it prints it: after the colon of a length or an exact match comes one blank " +
			"and a plain decimal", look: scoreMissing},
	{ID: "score-low", Class: Score, Severity: Error, level: resultLevel, when: []condition{scored, byLoadGen, enforced},
		Advice: "look for a wrong model, prompt or sampling; or submit in open", look: scoreLow(false)},
	{ID: "score-length-low", Class: Rehearsal, Severity: Error, level: resultLevel,
		when:   []condition{scored, byLoadGen, enforced},
		Advice: "run the whole data set with the reference's output limits", look: scoreLow(true)},
	{ID: "score-length-high", Class: Rehearsal, Severity: Error, level: resultLevel,
		when:   []condition{scored, byLoadGen, enforced},
		Advice: "run the whole data set with the reference's output limits", look: scoreHigh},
	{ID: "score-open", Class: Score, Severity: Warning, level: resultLevel, when: []condition{scored, byLoadGen, isOpen},
		Advice: "nothing: open may be below the target, and says so", look: scoreAnywhere},
	{ID: "hash", Class: Score, Severity: Error, level: resultLevel, when: []condition{scored, byLoadGen, enforced},
		Advice: "truncate the accuracy log: `mlperf-go submission truncate` writes its hash", look: hashThere},
	{ID: "hash-form", Class: Score, Severity: Error, Strict: true, level: resultLevel,
		when:   []condition{scored, byLoadGen},
		Advice: "truncate the original log again: a hash is a SHA-256 in 64 hexadecimal digits", look: hashForm},
	{ID: "accuracy-json", Class: Log, Severity: Error, level: resultLevel, when: []condition{byLoadGen},
		Advice: "put the accuracy run's truncated log there", look: accuracyJSON},
	{ID: "accuracy-json-size", Class: Log, Severity: Error, level: resultLevel, when: []condition{byLoadGen},
		Advice: "truncate the log: `mlperf-go submission truncate`", look: accuracyJSONSize},
	{ID: "accuracy-count", Class: Rehearsal, Severity: Error, level: resultLevel,
		Advice: "run accuracy over the whole data set", look: accuracyCount},
}

func scoresThere(s *scope, breach say) {
	switch t := s.result.scores; {
	case t.absent:
		breach(t.path, "", "no such file", "the scores")
	case t.err != nil:
		breach(t.path, "", t.err, "scores that can be read")
	}
}

func (s *scope) atLeastTargets() targets { return s.model().atLeast(canonical(s.name)) }

func scoreMissing(s *scope, breach say) {
	for _, t := range s.atLeastTargets() {
		if _, found := s.result.scores.found[t.Metric]; !found {
			breach(s.result.scores.path, t.Metric, "no line with it", "at least "+models.Figure(t.Bound))
		}
	}
}

// scoreLow looks at quality, or at the totals that only the whole data set has.
func scoreLow(lengths bool) func(*scope, say) {
	return func(s *scope, breach say) {
		for _, b := range s.result.scores.low {
			if ofTheCorpus[b.metric] == lengths {
				breach(s.result.scores.path, b.metric, b.found, "at least "+models.Figure(b.bound))
			}
		}
	}
}

// scoreAnywhere is every score and length outside of its bounds.
func scoreAnywhere(s *scope, breach say) {
	scoreLow(false)(s, breach)
	scoreLow(true)(s, breach)
	scoreHigh(s, breach)
}

func scoreHigh(s *scope, breach say) {
	for _, b := range s.result.scores.high {
		breach(s.result.scores.path, b.metric, b.found, "at most "+models.Figure(b.bound))
	}
}

func hashThere(s *scope, breach say) {
	if s.result.scores.hash == "" {
		breach(s.result.scores.path, "hash", "no line hash=<SHA-256>", "the hash of the whole log")
	}
}

var sha256Digits = regexp.MustCompile(`^[0-9a-f]{64}$`)

func hashForm(s *scope, breach say) {
	if h := s.result.scores.hash; h != "" && !sha256Digits.MatchString(h) {
		breach(s.result.scores.path, "hash", h, "64 lower-case hexadecimal digits")
	}
}

func accuracyJSON(s *scope, breach say) {
	name := path.Join(s.path, layout.Accuracy, mllog.AccuracyName)
	if _, ok := s.files.size(name); !ok {
		breach(name, "", "no such file", "the truncated log")
	}
}

func accuracyJSONSize(s *scope, breach say) {
	name := path.Join(s.path, layout.Accuracy, mllog.AccuracyName)
	if size, _ := s.files.size(name); size > maxAccuracyLog {
		breach(name, "", fmt.Sprintf("%d bytes", size), fmt.Sprintf("at most %d", maxAccuracyLog))
	}
}

func accuracyCount(s *scope, breach say) {
	d := s.result.accuracy
	if !d.usable() || s.model() == nil || s.o.SkipDatasetSize {
		return
	}
	key := "effective_accuracy_sample_count"
	if _, given := d.values[key]; !given {
		key = "qsl_reported_total_count"
	}
	want := s.model().accuracyCount(canonical(s.name))
	if v, ok := d.number(key); !ok || v != float64(want) {
		breach(d.path, key, orNothing(d.value(key)), want)
	}
}
