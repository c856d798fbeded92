package models

import (
	"cmp"
	"slices"
)

// Names of scorers, the keys of accuracy's table.
const (
	ScoreSummaries     = "rouge-summaries" // ROUGE, with figures printed as strings
	ScoreAnswers       = "rouge-answers"   // ROUGE and token counts
	ScoreLongContext   = "long-context"    // ROUGE-L or exact match, per sample
	ScoreMixture       = "mixture"         // ROUGE, numbers and code by subset
	ScoreReasoning     = "reasoning"       // exact match by subset
	ScoreHarmony       = "harmony"         // exact match by subset on harmony text, repeats weighted
	ScoreCatalogue     = "catalogue"       // hierarchical F1 of JSON answers
	ScoreFunctionCalls = "function-calls"  // syntax-tree check of function calls
)

// Scorings returns the names of scorers in the order of error messages.
func Scorings() []string {
	return []string{ScoreSummaries, ScoreAnswers, ScoreLongContext, ScoreMixture, ScoreReasoning, ScoreHarmony,
		ScoreCatalogue, ScoreFunctionCalls}
}

// Scoring describes how a benchmark's answers are scored, and their targets. Answers with the zero Scoring are not
// scored.
type Scoring struct {
	Scorer    string                `yaml:"scorer" need:"yes"`
	Columns   ScoringColumns        `yaml:"columns"`
	Targets   []Target              `yaml:"targets"`
	Scenarios map[Scenario][]Target // targets that differ from Targets
	Notes     []string              // remarks for readers of the result
	// column with correct programs for the simulator, which only synthetic sets have; "": none
	Solution string
	Source   string
}

// ScoringColumns holds the names of the data set columns that a scorer reads, "" for those it does not need.
type ScoringColumns struct {
	Target     string `yaml:"target"`
	Subset     string `yaml:"subset"`
	Metric     string `yaml:"metric"`
	ID         string `yaml:"id"`
	Brand      string `yaml:"brand"`
	Secondhand string `yaml:"secondhand"`
	Function   string `yaml:"function"`
	// column with the tests that a program must pass; only synthetic sets have it
	Tests string
}

// Names returns the names that are set, in a fixed order.
func (c *ScoringColumns) Names() []string {
	all := []string{c.Target, c.Subset, c.Metric, c.ID, c.Brand, c.Secondhand, c.Function, c.Tests}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// Reference holds the values of a sample's ScoringColumns, with which its answer is compared.
type Reference struct {
	Target     string // reference answer
	Subset     string // name of the part of the data set
	Metric     string // metric of this sample, if the data set has one per sample
	ID         string
	Brand      string
	Secondhand string
	Function   string // descriptions of the callable functions, as JSON
	Tests      string // tests of a program, as a line of LiveCodeBench's file
}

// Reference makes a Reference from the values of the columns in Names. It returns false if their number differs.
func (c *ScoringColumns) Reference(values []string) (Reference, bool) {
	var r Reference
	names := []string{c.Target, c.Subset, c.Metric, c.ID, c.Brand, c.Secondhand, c.Function, c.Tests}
	for i, field := range []*string{&r.Target, &r.Subset, &r.Metric, &r.ID, &r.Brand, &r.Secondhand, &r.Function,
		&r.Tests} {
		if names[i] == "" {
			continue
		}
		if len(values) == 0 {
			return r, false
		}
		*field, values = values[0], values[1:]
	}
	return r, len(values) == 0
}

// Target is the inclusive range that a metric must lie in.
//
// The limits are the submission checker's products as Python prints them: Reference times LowFactor or HighFactor.
type Target struct {
	Metric     string  `yaml:"metric" need:"yes"`
	Min        float64 `yaml:"min" is:"0..1e12"` // lower limit, inclusive; 0: none
	Max        float64 `yaml:"max" is:"0..1e12"` // upper limit, inclusive; 0: none
	Optional   bool    // whether the target applies only if the metric was printed
	Reference  float64 // score of the reference implementation; 0: unknown
	LowFactor  float64
	HighFactor float64
}

// checkerNames maps the scorers' names of metrics to the submission checker's, if they differ.
var checkerNames = map[string]string{
	"rouge1": "ROUGE1", "rouge2": "ROUGE2", "rougeL": "ROUGEL", "rougeLsum": "ROUGELSUM", "gen_len": "GEN_LEN",
	"tokens_per_sample": "TOKENS_PER_SAMPLE", "gsm8k": "gsm8k_accuracy", "mbxp": "mbxp_accuracy", "f1": "F1_HIERARCHICAL",
}

// CheckerName returns the metric's name in the tables and the summary of the submission checker, such as ROUGE1.
func (t Target) CheckerName() string { return cmp.Or(checkerNames[t.Metric], t.Metric) }

// TargetsFor returns the targets in a scenario.
func (s *Scoring) TargetsFor(scenario Scenario) []Target {
	if own, ok := s.Scenarios[scenario]; ok {
		return own
	}
	return s.Targets
}

// scoringSource names the sources of the targets and the algorithms.
const scoringSource = "targets: " + sourceChecker + "; algorithm: docs/how-to/accuracy.md"

// atLeast returns the target factor x reference; limit is that product as Python prints it.
func atLeast(metric string, reference, factor, limit float64) Target {
	return Target{Metric: metric, Min: limit, Reference: reference, LowFactor: factor}
}

// within returns the target from 0.9 x reference (low) to 1.1 x reference (high).
func within(metric string, reference, low, high float64) Target {
	return Target{Metric: metric, Min: low, Max: high, Reference: reference, LowFactor: 0.9, HighFactor: 1.1}
}
