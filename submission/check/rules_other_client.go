package check

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"github.com/mlperf-go/mlperf-go/models"
)

// otherClientRules check results of the organisers' newer client
// (docs/reference/submission-rules.md#results-of-the-endpoints-client).
var otherClientRules = atLevel(resultLevel,
	Rule{ID: "client-round", Class: Run, when: []condition{otherClient}, check: clientRound,
		Advice: "measure with LoadGen in this round"},
	Rule{ID: "client-benchmark", Class: Run, when: []condition{otherClient}, check: clientBenchmark,
		Advice: "measure this benchmark with LoadGen"},
	Rule{ID: "client-score", Class: Score, when: []condition{otherClient, scored, enforced}, check: clientScore,
		Advice: "look for a wrong model, prompt or sampling; or submit in open"},
	Rule{ID: "client-audit", Class: Audit, when: []condition{otherClient, enforced}, check: clientAudit,
		Advice: "repeat the audit"},
	Rule{ID: "client-output-length", Class: Audit, when: []condition{otherClient, anyClient, enforced},
		check:  clientOutputLength,
		Advice: "run with the reference's output limits"},
)

func clientRound(s *scope, breach breachFunc) {
	if !s.round.Checker.OtherClient {
		breach(s.result.performance.path, "", "a result of another client in round "+s.round.Name, "LoadGen's logs")
	}
}

func clientBenchmark(s *scope, breach breachFunc) {
	if !s.model().OtherClient {
		breach(s.result.performance.path, "", s.model().Name, "a benchmark that may be measured with that client")
	}
}

func clientScore(s *scope, breach breachFunc) {
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

// clientAudits maps audits to the names of their records.
var clientAudits = map[string]string{
	"TEST06": "consistency_output_test",
	"TEST07": "accuracy_in_performance_full_test",
}

// clientAudit accepts missing records; a record that exists must state that the audit passed.
func clientAudit(s *scope, breach breachFunc) {
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

// The bounds of TEST09, the same for every benchmark that has it
// (docs/reference/submission-rules.md#results-of-the-endpoints-client).
const (
	minOutputTokens = 1150.38
	maxOutputTokens = 1406.02
)

func clientOutputLength(s *scope, breach breachFunc) {
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
