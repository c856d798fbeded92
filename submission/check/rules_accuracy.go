package check

import (
	"fmt"
	"path"
	"regexp"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// maxAccuracyLog is the largest size of a truncated accuracy log, in bytes
// (docs/reference/submission-rules.md#the-tree).
const maxAccuracyLog = 10 << 10

// accuracyRules check the scores and the truncated log (docs/reference/submission-rules.md#accuracy). The open division
// records scores, but has no targets.
var accuracyRules = atLevel(resultLevel,
	Rule{ID: "scores", Class: Score, check: scoresThere,
		Advice: "score the accuracy run; its figures belong in this file"},
	Rule{ID: "score-missing", Class: Score, when: []condition{scored, byLoadGen, enforced}, check: scoreMissing,
		Advice: "copy the scorer's output unchanged: the colon of a length or an exact match is followed by one blank " +
			"and a plain decimal"},
	Rule{ID: "score-low", Class: Score, when: []condition{scored, judged, byLoadGen, enforced}, check: scoreLow(false),
		Advice: "look for a wrong model, prompt or sampling; or submit in open"},
	Rule{ID: "score-not-judged", Class: Rehearsal, Strict: true, when: []condition{scored, byLoadGen, enforced},
		check: scoreNotJudged, Advice: "run the benchmark's own data set"},
	Rule{ID: "score-length-low", Class: Rehearsal, when: []condition{scored, byLoadGen, enforced}, check: scoreLow(true),
		Advice: "run the whole data set with the reference's output limits"},
	Rule{ID: "score-length-high", Class: Rehearsal, when: []condition{scored, byLoadGen, enforced}, check: scoreHigh,
		Advice: "run the whole data set with the reference's output limits"},
	Rule{ID: "score-open", Class: Score, Severity: Warning, when: []condition{scored, byLoadGen, isOpen},
		check:  scoreAnywhere,
		Advice: "nothing to do: results in open may be below the target"},
	Rule{ID: "hash", Class: Score, when: []condition{scored, byLoadGen, enforced}, check: hashThere,
		Advice: "truncate the accuracy log: `mlperf-go submission truncate` writes its hash"},
	Rule{ID: "hash-form", Class: Score, Strict: true, when: []condition{scored, byLoadGen}, check: hashForm,
		Advice: "truncate the original log again: a hash is a SHA-256 in 64 hexadecimal digits"},
	Rule{ID: "accuracy-json", Class: Log, when: []condition{byLoadGen}, check: accuracyJSON,
		Advice: "put the accuracy run's truncated log there"},
	Rule{ID: "accuracy-json-size", Class: Log, when: []condition{byLoadGen}, check: accuracyJSONSize,
		Advice: "truncate the log: `mlperf-go submission truncate`"},
	Rule{ID: "accuracy-count", Class: Rehearsal, check: accuracyCount,
		Advice: "run accuracy over the whole data set"},
)

func scoresThere(s *scope, breach breachFunc) {
	switch t := s.result.scores; {
	case t.absent:
		breach(t.path, "", "no such file", "the scores")
	case t.err != nil:
		breach(t.path, "", t.err, "readable scores")
	}
}

func (s *scope) atLeastTargets() targets { return s.model().atLeast(canonical(s.name)) }

func scoreMissing(s *scope, breach breachFunc) {
	for _, t := range s.atLeastTargets() {
		if _, found := s.result.scores.found[t.Metric]; !found {
			breach(s.result.scores.path, t.Metric, "no line with this metric", "at least "+models.Figure(t.Bound))
		}
	}
}

// scoreLow checks the lower bounds of the lengths, or of all other metrics.
func scoreLow(lengths bool) func(*scope, breachFunc) {
	return func(s *scope, breach breachFunc) {
		for _, b := range s.result.scores.low {
			if corpusMetrics[b.metric] == lengths {
				breach(s.result.scores.path, b.metric, b.found, "at least "+models.Figure(b.bound))
			}
		}
	}
}

// scoreNotJudged reports scores of a data set whose right answers the server could not know.
func scoreNotJudged(s *scope, breach breachFunc) {
	if !judged(s) {
		breach(s.result.scores.path, "", "not judged", "scores of the benchmark's data set")
	}
}

// scoreAnywhere reports every score and length outside its bounds.
func scoreAnywhere(s *scope, breach breachFunc) {
	scoreLow(false)(s, breach)
	scoreLow(true)(s, breach)
	scoreHigh(s, breach)
}

func scoreHigh(s *scope, breach breachFunc) {
	for _, b := range s.result.scores.high {
		breach(s.result.scores.path, b.metric, b.found, "at most "+models.Figure(b.bound))
	}
}

func hashThere(s *scope, breach breachFunc) {
	if s.result.scores.hash == "" {
		breach(s.result.scores.path, "hash", "no line hash=<SHA-256>", "the hash of the whole log")
	}
}

var sha256Digits = regexp.MustCompile(`^[0-9a-f]{64}$`)

func hashForm(s *scope, breach breachFunc) {
	if h := s.result.scores.hash; h != "" && !sha256Digits.MatchString(h) {
		breach(s.result.scores.path, "hash", h, "64 lower-case hexadecimal digits")
	}
}

func accuracyJSON(s *scope, breach breachFunc) {
	name := path.Join(s.path, layout.Accuracy, mllog.AccuracyName)
	if _, ok := s.files.size(name); !ok {
		breach(name, "", "no such file", "the truncated log")
	}
}

func accuracyJSONSize(s *scope, breach breachFunc) {
	name := path.Join(s.path, layout.Accuracy, mllog.AccuracyName)
	if size, _ := s.files.size(name); size > maxAccuracyLog {
		breach(name, "", fmt.Sprintf("%d bytes", size), fmt.Sprintf("at most %d", maxAccuracyLog))
	}
}

func accuracyCount(s *scope, breach breachFunc) {
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
