package check

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/mlperf-go/mlperf-go/models"
)

// otherClientRules look at results of the organisers' newer client
// (docs/reference/submission-rules.md#results-of-the-endpoints-client).
var otherClientRules = []Rule{
	{ID: "client-round", Class: Run, Severity: Error, level: resultLevel, when: []condition{otherClient},
		Advice: "measure with LoadGen in this round", look: clientRound},
	{ID: "client-benchmark", Class: Run, Severity: Error, level: resultLevel, when: []condition{otherClient},
		Advice: "measure this benchmark with LoadGen", look: clientBenchmark},
	{ID: "client-score", Class: Score, Severity: Error, level: resultLevel,
		when:   []condition{otherClient, scored, enforced},
		Advice: "look for a wrong model, prompt or sampling; or submit in open", look: clientScore},
	{ID: "client-audit", Class: Audit, Severity: Error, level: resultLevel, when: []condition{otherClient, enforced},
		Advice: "repeat the audit", look: clientAudit},
	{ID: "client-output-length", Class: Audit, Severity: Error, level: resultLevel,
		when:   []condition{otherClient, anyClient, enforced},
		Advice: "run with the reference's output limits", look: clientOutputLength},
}

func clientRound(s *scope, breach say) {
	if !s.round.Checker.OtherClient {
		breach(s.result.performance.path, "", "a result of another client in round "+s.round.Name, "LoadGen's logs")
	}
}

func clientBenchmark(s *scope, breach say) {
	if !s.model().OtherClient {
		breach(s.result.performance.path, "", s.model().Name, "a benchmark that may be measured with that client")
	}
}

func clientScore(s *scope, breach say) {
	if !s.model().OtherClientScored {
		return
	}
	for _, v := range s.result.scores.found {
		bound := s.atLeastTargets()[0].Bound
		if f, err := strconv.ParseFloat(v, 64); err != nil || f < bound {
			breach(s.result.scores.path, "score", v, "at least "+models.Figure(bound))
		}
	}
}

// clientAudits are the names of the audits' records.
var clientAudits = map[string]string{
	"TEST06": "consistency_output_test",
	"TEST07": "accuracy_in_performance_full_test",
}

// clientAudit: a record need not be there, but must say that the audit passed.
func clientAudit(s *scope, breach say) {
	for _, name := range s.model().Audits {
		test := clientAudits[name]
		if test == "" {
			continue
		}
		d := s.readDocument(path.Join(s.path, "audit", "audit_"+test+".json"))
		switch {
		case errors.Is(d.err, fs.ErrNotExist):
		case d.err != nil:
			breach(d.path, "", d.err, "a JSON object")
		case d.values["test"] != test:
			breach(d.path, "test", orNothing(d.values["test"]), test)
		case !truthy(d.values["passed"]):
			breach(d.path, "passed", orNothing(d.values["passed"]), true)
		}
	}
}

// The bounds of TEST09, which stand for every benchmark that has it
// (docs/reference/submission-rules.md#results-of-the-endpoints-client).
const (
	minOutputTokens = 1150.38
	maxOutputTokens = 1406.02
)

func clientOutputLength(s *scope, breach say) {
	for _, name := range s.model().Audits {
		if name != "TEST09" {
			continue
		}
		d := s.result.performance
		if v, ok := d.number("mean_output_tokens"); !ok || v < minOutputTokens || v > maxOutputTokens {
			breach(d.path, "output_sequence_lengths.avg", orNothing(d.value("mean_output_tokens")),
				fmt.Sprintf("%v to %v", minOutputTokens, maxOutputTokens))
		}
	}
}
