package accuracy

import (
	"context"
	"fmt"
	"strings"
)

// Totals over the subsets of the function-call set (docs/reference/scoring-rules.md#function-calls).

// callCategory is a part of the total. Its value is the mean of its groups. The value of a group is the mean of its
// subsets or, if the group is weighted, the mean of all their samples.
type callCategory struct {
	name     string
	groups   [][]string
	weighted bool
}

var callCategories = []callCategory{
	{name: "non_live", groups: [][]string{{"simple_python", "simple_java", "simple_javascript"}, {"multiple"},
		{"parallel"}, {"parallel_multiple"}}},
	{name: "live", groups: [][]string{{"live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"}},
		weighted: true},
	{name: "hallucination", groups: [][]string{{"irrelevance"}, {"live_irrelevance"}}},
}

// In refusals the correct answer is no call; in relevance it is any call.
var (
	refusals  = map[string]bool{"irrelevance": true, "live_irrelevance": true}
	relevance = map[string]bool{"live_relevance": true}
)

// callTotals are the results for the function-call set as fractions.
type callTotals struct {
	Overall    float64
	Normalized float64 // mean of the categories' values
	Categories map[string]float64
	Subsets    map[string]float64
}

// totalCalls combines the counts of the subsets. A sample without an answer counts as wrong.
func totalCalls(counts map[string]correctCount) callTotals {
	t := callTotals{Categories: map[string]float64{}, Subsets: map[string]float64{}}
	var all correctCount
	for name, c := range counts {
		if c.Total == 0 {
			continue
		}
		t.Subsets[name] = float64(c.Correct) / float64(c.Total)
		all.Correct, all.Total = all.Correct+c.Correct, all.Total+c.Total
	}
	if all.Total == 0 {
		return t
	}
	t.Overall = float64(all.Correct) / float64(all.Total)
	sum, n := 0.0, 0
	for _, category := range callCategories {
		if v, ok := category.total(t.Subsets, counts); ok {
			t.Categories[category.name] = v
			sum, n = sum+v, n+1
		}
	}
	t.Normalized = sum / float64(max(n, 1))
	return t
}

// total returns the mean of the groups that have samples.
func (c *callCategory) total(means map[string]float64, counts map[string]correctCount) (float64, bool) {
	sum, groups := 0.0, 0
	for _, group := range c.groups {
		part, weight := 0.0, 0.0
		for _, name := range group {
			mean, ok := means[name]
			if !ok {
				continue
			}
			w := 1.0
			if c.weighted {
				w = float64(counts[name].Total)
			}
			part, weight = part+mean*w, weight+w
		}
		if weight > 0 {
			sum, groups = sum+part/weight, groups+1
		}
	}
	return sum / float64(max(groups, 1)), groups > 0
}

// percent formats a fraction like the reference.
func percent(v float64) string { return fmt.Sprintf("%.2f", v*100) }

func functionCalls() *scorer {
	return &scorer{
		text: utf8Text, repeats: true, scores: []string{"correct"},
		worker: func(*Input) scoreFunc {
			return func(_ context.Context, s *sample, out *SampleScore) error {
				return scoreCalls(s, out)
			}
		},
		finish: callMetrics,
		line: func(r *Result) string {
			m, _ := r.Metric("mAP")
			return "mAP=" + m.Text + "\n" + dictLine(r)
		},
	}
}

func scoreCalls(s *sample, out *SampleScore) error {
	calls, native := extractCalls(s.text)
	switch {
	case refusals[s.ref.Subset]:
		out.Scores[0] = number01(!native)
		return nil
	case relevance[s.ref.Subset]:
		out.Scores[0] = number01(native)
		return nil
	}
	v, err := compareCalls(s.ref, calls)
	out.Scores[0] = number01(v.Valid)
	out.Answer = v.Error
	return err
}

// compareCalls checks extracted calls against a sample's reference. Calls on which the reference's checker fails count
// as wrong.
func compareCalls(ref *Reference, extracted []any) (callVerdict, error) {
	expected, err := parseJSON(ref.Target)
	if err != nil {
		return callVerdict{}, fmt.Errorf("invalid expected calls in the data set: %w", err)
	}
	wants, isList := expected.([]any)
	if o, isObject := expected.(*object); (isList && len(wants) == 0) || (isObject && len(o.keys) == 0) ||
		expected == "" || expected == nil {
		if len(extracted) == 0 {
			return callsValid, nil
		}
		return invalid("unexpected_call"), nil
	}
	if !isList {
		return callVerdict{}, fmt.Errorf("the expected calls in the data set are a %s instead of a list",
			pyKind(expected))
	}
	described, err := parseJSON(ref.Function)
	descriptions, isList := described.([]any)
	if err != nil || !isList {
		return callVerdict{}, fmt.Errorf("the function descriptions in the data set are not a JSON list: %.60q",
			ref.Function)
	}
	return checkCalls(ref.Subset, descriptions, namedArguments(extracted), wants), nil
}

// namedArguments converts {name, arguments} to {name: arguments}.
func namedArguments(calls []any) []any {
	var out []any
	for _, c := range calls {
		call := c.(*object)
		arguments := call.values["arguments"]
		if text, ok := arguments.(string); ok {
			var err error
			if arguments, err = parseJSON(text); err != nil {
				arguments = newObject()
			}
		}
		name, ok := call.values["name"].(string)
		if !ok {
			name = strings.TrimSpace(fmt.Sprint(call.values["name"]))
		}
		o := newObject()
		o.set(name, arguments)
		out = append(out, o)
	}
	return out
}

func callMetrics(t *tally) []Metric {
	counts := map[string]correctCount{}
	for _, s := range t.scores {
		c := counts[s.Subset]
		counts[s.Subset] = correctCount{c.Correct + int(s.Scores[0]), c.Total + 1}
	}
	total := totalCalls(counts)
	metric := func(name string, v float64) Metric {
		return Metric{Name: name, Value: pyRound(v*100, 2), Text: percent(v)}
	}
	out := []Metric{metric("mAP", total.Overall), metric("overall_accuracy", total.Overall),
		metric("normalized_single_turn_score", total.Normalized)}
	for _, c := range callCategories {
		if v, ok := total.Categories[c.name]; ok {
			out = append(out, metric(c.name, v))
		}
	}
	return append(out, countMetric("total_samples", len(t.scores)))
}
