package models

import "cmp"

// Ways of scoring, the keys of accuracy's table of scorers.
const (
	ScoreSummaries     = "rouge-summaries" // ROUGE, figures printed as strings
	ScoreAnswers       = "rouge-answers"   // ROUGE and token counts
	ScoreLongContext   = "long-context"    // ROUGE-L or exact match, selected by the sample
	ScoreMixture       = "mixture"         // ROUGE, numbers and code by subset
	ScoreReasoning     = "reasoning"       // exact match by subset
	ScoreHarmony       = "harmony"         // exact match by subset on harmony text, repeats weighted
	ScoreCatalogue     = "catalogue"       // hierarchical F1 of JSON answers
	ScoreFunctionCalls = "function-calls"  // syntax-tree check of function calls
)

// Scorings lists the ways of scoring in the order in which errors show them.
func Scorings() []string {
	return []string{ScoreSummaries, ScoreAnswers, ScoreLongContext, ScoreMixture, ScoreReasoning, ScoreHarmony,
		ScoreCatalogue, ScoreFunctionCalls}
}

// Scoring describes how a benchmark's answers are scored and the targets. The zero value: answers are not scored.
type Scoring struct {
	Scorer    string
	Columns   ScoringColumns
	Targets   []Target
	Scenarios map[Scenario][]Target // targets of scenarios with their own
	Notes     []string              // notes for readers of the result
	// column of passing programs, which synthetic sets contain for the simulator; empty: none
	Solution string
	Source   string
}

// ScoringColumns names the columns of the data set that a scorer reads. An empty name: not needed.
type ScoringColumns struct {
	Target, Subset, Metric, ID  string
	Brand, Secondhand, Function string
	// tests of a program, in synthetic sets only; real sets have separate files
	Tests string
}

// Names returns the names that are not empty, in a fixed order.
func (c *ScoringColumns) Names() []string {
	var names []string
	for _, n := range []string{c.Target, c.Subset, c.Metric, c.ID, c.Brand, c.Secondhand, c.Function, c.Tests} {
		if n != "" {
			names = append(names, n)
		}
	}
	return names
}

// Reference contains what a sample's answer is compared with.
type Reference struct {
	Target     string // reference answer
	Subset     string // the part of the data set that it belongs to
	Metric     string // how it is scored, if the data set has such a column
	ID         string
	Brand      string
	Secondhand string
	Function   string // descriptions of the functions that may be called, as JSON
	Tests      string // of a program, as a line of LiveCodeBench's file
}

// Reference assigns the values of the columns of Names, in that order, to the fields of a Reference. It returns false
// if their number differs.
func (c *ScoringColumns) Reference(values []string) (Reference, bool) {
	var r Reference
	for _, f := range []struct {
		name string
		to   *string
	}{
		{c.Target, &r.Target}, {c.Subset, &r.Subset}, {c.Metric, &r.Metric}, {c.ID, &r.ID},
		{c.Brand, &r.Brand}, {c.Secondhand, &r.Secondhand}, {c.Function, &r.Function}, {c.Tests, &r.Tests},
	} {
		if f.name == "" {
			continue
		}
		if len(values) == 0 {
			return r, false
		}
		*f.to, values = values[0], values[1:]
	}
	return r, len(values) == 0
}

// Target is the range that a metric must lie in, both ends included.
//
// The limits are the submission checker's products as Python prints them; they are Reference times LowFactor or
// HighFactor.
type Target struct {
	Metric     string
	Min        float64 // 0: none
	Max        float64 // 0: none
	Optional   bool    // applies only if the metric was printed
	Reference  float64 // the reference implementation's figure; 0: unknown
	LowFactor  float64
	HighFactor float64
}

// checkerNames are the submission checker's names of metrics that differ from the scorers'.
var checkerNames = map[string]string{
	"rouge1": "ROUGE1", "rouge2": "ROUGE2", "rougeL": "ROUGEL", "rougeLsum": "ROUGELSUM", "gen_len": "GEN_LEN",
	"tokens_per_sample": "TOKENS_PER_SAMPLE", "gsm8k": "gsm8k_accuracy", "mbxp": "mbxp_accuracy", "f1": "F1_HIERARCHICAL",
}

// CheckerName returns the metric's name in the tables and the summary of the submission checker, such as ROUGE1.
func (t Target) CheckerName() string { return cmp.Or(checkerNames[t.Metric], t.Metric) }

// TargetsFor returns the targets of a scenario.
func (s *Scoring) TargetsFor(scenario Scenario) []Target {
	if own, ok := s.Scenarios[scenario]; ok {
		return own
	}
	return s.Targets
}

// Source of the targets and the algorithms.
const scoringSource = "targets: " + sourceChecker + "; algorithm: docs/how-to/accuracy.md"

// atLeast is a target of factor x reference, printed as limit.
func atLeast(metric string, reference, factor, limit float64) Target {
	return Target{Metric: metric, Min: limit, Reference: reference, LowFactor: factor}
}

// within is a target from 0.9 x reference to 1.1 x reference, printed as low and high.
func within(metric string, reference, low, high float64) Target {
	return Target{Metric: metric, Min: low, Max: high, Reference: reference, LowFactor: 0.9, HighFactor: 1.1}
}
