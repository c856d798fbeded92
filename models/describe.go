package models

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Field is one line of a row's description.
type Field struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // origin of the value
}

// Sources of the values, as Describe returns them.
const (
	sourceConf    = "loadgen/mlperf.conf of mlcommons/inference, LoadGen 6.0.17"
	sourceChecker = "tools/submission/submission_checker/constants.py of mlcommons/inference, v6.1"
	sourceRules   = "inference_rules.adoc of mlcommons/inference_policies, and the benchmark's reference in " +
		"mlcommons/inference"
	sourceData = "README of the benchmark's reference"
	sourceOurs = "this program, docs/how-to/models.md"
	sourceRow  = sourceRules + "; " + sourceConf
)

// Describe returns every value of a row with its source, in display order. rounds are the fields that package rounds
// adds.
func (r *Row) Describe(rounds ...Field) []Field {
	fields := []Field{
		{"name", r.Name, sourceChecker},
		{"aliases", list(r.Aliases), sourceOurs},
		{"served models", list(r.ServedModels), sourceRules},
		{"data set samples", count(r.DatasetSamples), sourceRules},
		{"data set", r.Data.String(), sourceData},
		{"performance sample count", count(r.PerformanceCount), sourceConf},
		{"accuracy sample count", count(r.AccuracyCount), sourceConf},
		{"token latencies", strconv.FormatBool(r.UseTokenLatencies), sourceConf},
		{"longest prompt (tokens)", count(r.MaxInputTokens), sourceRules},
		{"vocabulary size", count(r.Vocabulary), sourceRules},
		{"first token id", firstToken(r.BOS), sourceRules},
		{"end token ids", numbers(r.EOS), sourceRules},
		{"minimum output tokens", strconv.Itoa(r.MinOutputTokens), sourceRules},
	}
	for _, m := range modeNames {
		fields = append(fields, Field{"sampling, " + string(m), r.Sampling[m].String(), sourceRules})
	}
	for i := range r.Scenarios {
		fields = append(fields, Field{"scenario " + string(r.Scenarios[i].Scenario), r.Scenarios[i].String(),
			sourceConf + "; " + sourceChecker})
	}
	fields = append(fields,
		Field{"columns", describeColumns(r.Columns), sourceRules},
		Field{"answers in LoadGen's log", answerForm(r), sourceRules})
	fields = append(fields, r.describeScoring()...)
	if g := r.Guided; g.Schema != "" {
		fields = append(fields, Field{"guided decoding", "off, unless the round allows it; schema " + g.Schema, sourceRules})
	}
	fields = append(fields, rounds...)
	for _, d := range r.Decisions {
		fields = append(fields, Field{"decided: " + d.Item, d.Taken, "sources disagree: " + d.Values})
	}
	if r.Retired {
		fields = append(fields, Field{"retired", "true", sourceChecker})
	}
	return append(fields, Field{"source", r.Source, ""})
}

// String returns the publisher, the licence and the files' names in one line.
func (d *DataSource) String() string {
	if len(d.Files) == 0 {
		return "none published"
	}
	names := make([]string, len(d.Files))
	for i, f := range d.Files {
		names[i] = f.Name
	}
	return d.From + " (" + d.Licence + "): " + list(names)
}

func answerForm(r *Row) string {
	if r.TextAnswers {
		return "UTF-8 text"
	}
	return "token ids, int32 little-endian"
}

// describeScoring returns the scorer, the columns that it reads, and each target with its factors.
func (r *Row) describeScoring() []Field {
	s := &r.Scoring
	if s.Scorer == "" {
		return []Field{{"scoring", "none", sourceOurs}}
	}
	fields := []Field{{"scoring", s.Scorer + " on " + list(s.Columns.Names()), s.Source}}
	add := func(name string, targets []Target) {
		for _, t := range targets {
			fields = append(fields, Field{name + t.Metric, t.String(), s.Source})
		}
	}
	add("target ", s.Targets)
	for i := range r.Scenarios {
		name := r.Scenarios[i].Scenario
		add("target in "+string(name)+" ", s.Scenarios[name])
	}
	for _, n := range s.Notes {
		fields = append(fields, Field{"note", n, s.Source})
	}
	return fields
}

// String returns the limits of a target with the products from which they result.
func (t Target) String() string {
	var parts []string
	limit := func(word string, value, factor float64) {
		if value == 0 {
			return
		}
		text := word + " " + Figure(value)
		if factor > 0 {
			text += " (" + Figure(factor) + " x " + Figure(t.Reference) + ")"
		}
		parts = append(parts, text)
	}
	limit("at least", t.Min, t.LowFactor)
	limit("at most", t.Max, t.HighFactor)
	if t.Optional {
		parts = append(parts, "only if it is printed")
	}
	return strings.Join(parts, ", ")
}

// Figure formats a number for display with at most six decimals.
func Figure(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }

// Grouped formats a count for display, with commas between groups of three digits.
func Grouped(n int) string {
	text := strconv.Itoa(n)
	first := strings.TrimPrefix(text, "-")
	for at := len(first) - 3; at > 0; at -= 3 {
		first = first[:at] + "," + first[at:]
	}
	if n < 0 {
		return "-" + first
	}
	return first
}

// String returns the parameters under their names in a request, or "nothing sent".
func (s Sampling) String() string {
	var parts []string
	add := func(name, value string) { parts = append(parts, name+" "+value) }
	if s.Temperature != nil {
		add("temperature", strconv.FormatFloat(*s.Temperature, 'g', -1, 64))
	}
	if s.TopP != nil {
		add("top_p", strconv.FormatFloat(*s.TopP, 'g', -1, 64))
	}
	if s.TopK != nil {
		add("top_k", strconv.Itoa(*s.TopK))
	}
	if s.Seed != nil {
		add("seed", strconv.FormatInt(*s.Seed, 10))
	}
	if s.MinTokens > 0 {
		add("min_tokens", strconv.Itoa(s.MinTokens))
	}
	if s.MaxTokens > 0 {
		add("max_tokens", strconv.Itoa(s.MaxTokens))
	}
	if len(s.StopTokenIDs) > 0 {
		add("stop_token_ids", numbers(s.StopTokenIDs))
	}
	if s.IgnoreEOS {
		add("ignore_eos", "true")
	}
	if len(parts) == 0 {
		return "nothing sent"
	}
	return strings.Join(parts, ", ")
}

// String returns a scenario's LoadGen key, limits and minimum size in one line.
func (s *ScenarioRow) String() string {
	parts := []string{fmt.Sprintf("LoadGen %s as %s", s.LoadGenModel, s.LoadGen)}
	limit := func(name string, d time.Duration) {
		if d > 0 {
			parts = append(parts, fmt.Sprintf("p99 %s under %v", name, d))
		}
	}
	limit("TTFT", s.TTFTLimit)
	limit("TPOT", s.TPOTLimit)
	limit("latency", s.TargetLatency)
	unit := "queries"
	if s.LoadGen == Offline {
		unit = "samples"
	}
	parts = append(parts, fmt.Sprintf("at least %d %s and %v", s.MinQueries, unit, s.MinDuration))
	if s.Samples > 0 {
		parts = append(parts, fmt.Sprintf("data set of %d", s.Samples))
	}
	if s.Stream {
		parts = append(parts, "streamed")
	}
	if s.Note != "" {
		parts = append(parts, s.Note)
	}
	return strings.Join(parts, ", ")
}

func describeColumns(columns []Column) string {
	texts := make([]string, 0, len(columns))
	for _, c := range columns {
		t := c.Name + " " + c.Type
		if c.Required {
			t += " required"
		}
		if len(c.Aliases) > 0 {
			t += " (or " + strings.Join(c.Aliases, ", ") + ")"
		}
		texts = append(texts, t)
	}
	return strings.Join(texts, "; ")
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func count(n int) string {
	if n == 0 {
		return "not fixed"
	}
	return strconv.Itoa(n)
}

func firstToken(id int32) string {
	if id == NoBOS {
		return "none"
	}
	return strconv.Itoa(int(id))
}

func numbers(ids []int32) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.Itoa(int(id))
	}
	return list(texts)
}
