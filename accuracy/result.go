package accuracy

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Metric is one figure of a result, with its target.
type Metric struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Text  string  `json:"text"` // value as accuracy.txt prints it
	Min   float64 `json:"min,omitempty"`
	Max   float64 `json:"max,omitempty"`
	Pass  *bool   `json:"pass,omitempty"` // whether the value is within its bounds; nil: no target
	Note  string  `json:"note,omitempty"`
}

// Bounds describes the metric's target in words.
func (m Metric) Bounds() string {
	switch {
	case m.Min != 0 && m.Max != 0:
		return models.Figure(m.Min) + " to " + models.Figure(m.Max)
	case m.Min != 0:
		return "at least " + models.Figure(m.Min)
	case m.Max != 0:
		return "at most " + models.Figure(m.Max)
	}
	return "no target"
}

// Subset contains the means of the scores over one part of the data set.
type Subset struct {
	Name     string             `json:"name"`
	Samples  int                `json:"samples"`
	Unscored int                `json:"unscored,omitempty"`
	Means    map[string]float64 `json:"means"`
}

// Unscored counts answers without a score for one reason.
type Unscored struct {
	Subset  string `json:"subset"`
	Samples int    `json:"samples"`
	Why     string `json:"why"`
}

// SampleScore is the score of one answer.
type SampleScore struct {
	Index    int       `json:"index"` // LoadGen's sample index
	Subset   string    `json:"subset,omitempty"`
	Empty    bool      `json:"empty,omitempty"` // the log contains no bytes for this sample
	Tokens   int       `json:"tokens,omitempty"`
	Chars    int       `json:"chars,omitempty"`    // code points of the processed text
	Scores   []float64 `json:"-"`                  // scores in the order of Result.ScoreNames; NaN: no score
	Answer   string    `json:"answer,omitempty"`   // extracted answer, at most 200 characters
	Unscored string    `json:"unscored,omitempty"` // why there is no score
	Fallback bool      `json:"fallback,omitempty"` // decided by a built-in replacement for the reference
	credit   bool      // the text is blank but has a score above 0
}

// Result is the score of one accuracy log.
type Result struct {
	Benchmark  string     `json:"benchmark"`
	Scenario   string     `json:"scenario,omitempty"`
	Scorer     string     `json:"scorer"`
	Log        string     `json:"log"`
	Entries    int        `json:"entries"`              // number of entries in the log
	Samples    int        `json:"samples"`              // number of scored samples, counted as the reference counts
	Duplicates int        `json:"duplicates,omitempty"` // entries for a sample that was answered before
	Missing    int        `json:"missing,omitempty"`    // samples of the data set without an answer
	Empty      int        `json:"empty,omitempty"`      // answers without any bytes
	Metrics    []Metric   `json:"metrics"`
	Subsets    []Subset   `json:"subsets,omitempty"`
	Unscored   []Unscored `json:"unscored,omitempty"`
	Fallbacks  int        `json:"fallbacks,omitempty"` // samples decided by a built-in replacement for the reference
	Rehearsal  bool       `json:"rehearsal,omitempty"`
	NotJudged  string     `json:"not_judged,omitempty"` // why no target applies to the scores; empty: targets apply
	Pass       *bool      `json:"pass"`                 // all targets reached; nil: no claim, see the fields around
	// reasons why the score must not be claimed
	Unclaimed  []string       `json:"unclaimed,omitempty"`
	Notes      []string       `json:"notes,omitempty"`
	Tokenizer  *finder.Source `json:"tokenizer,omitempty"` // source of the tokenizer that decoded the answers
	Source     string         `json:"source"`
	ScoreNames []string       `json:"-"`
	PerSample  []SampleScore  `json:"per_sample,omitempty"`

	line func(*Result) string
}

// Metric returns a metric by its name.
func (r *Result) Metric(name string) (Metric, bool) {
	i := slices.IndexFunc(r.Metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return r.Metrics[i], true
}

// MarshalJSON writes the scores of samples with their names.
func (r *Result) MarshalJSON() ([]byte, error) {
	type plain Result
	type named struct {
		SampleScore
		Scores map[string]float64 `json:"scores,omitempty"`
	}
	out := struct {
		*plain
		PerSample []named `json:"per_sample,omitempty"`
	}{plain: (*plain)(r)}
	for _, s := range r.PerSample {
		n := named{SampleScore: s, Scores: map[string]float64{}}
		for i, v := range s.Scores {
			if !math.IsNaN(v) {
				n.Scores[r.ScoreNames[i]] = v
			}
		}
		out.PerSample = append(out.PerSample, n)
	}
	return json.Marshal(out)
}

// WriteText writes accuracy.txt without the hash line that truncation adds. It lists unscored answers and omits their
// metrics.
func (r *Result) WriteText(w io.Writer) error {
	text := "Results\n\n" + r.line(r)
	for _, u := range r.Unscored {
		text += fmt.Sprintf("\nnot scored: %s of %s: %s\n", plural.Count(u.Samples, "sample", "samples"), u.Subset, u.Why)
	}
	if r.NotJudged != "" {
		text += "\nnot judged: " + r.NotJudged + "\n"
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("writing the accuracy text: %w", err)
	}
	return nil
}

// WriteJSON writes the result as one line of JSON, with one score per sample if Input.PerSample was set.
func (r *Result) WriteJSON(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("writing the scores as JSON: %w", err)
	}
	return nil
}

// judge compares the metrics with their targets. It claims no total if the log is in doubt or answers are
// unscored.
func (r *Result) judge(targets []Target, whole int) {
	pass := true
	var lacking []string
	for _, t := range targets {
		i := slices.IndexFunc(r.Metrics, func(m Metric) bool { return m.Name == t.Metric })
		if i < 0 {
			if !t.Optional {
				pass, lacking = false, append(lacking, t.Metric)
			}
			continue
		}
		m := &r.Metrics[i]
		m.Min, m.Max = t.Min, t.Max
		ok := m.Value >= t.Min && (t.Max == 0 || m.Value <= t.Max)
		if r.NotJudged == "" {
			m.Pass = &ok
		}
		pass = pass && ok
		if m.Name == sumOfLengths && r.Samples != whole {
			m.Note = fmt.Sprintf("a sum over %d samples; the target is for %d", r.Samples, whole)
		}
	}
	if len(lacking) > 0 && len(r.Unscored) == 0 && !r.Rehearsal { // unscored answers are the better reason
		r.Unclaimed = append(r.Unclaimed, fmt.Sprintf("the benchmark has targets for %s, but the data set has no rows for "+
			"these metrics", strings.Join(lacking, ", ")))
	}
	if len(r.Unclaimed) == 0 && len(r.Unscored) == 0 && r.NotJudged == "" {
		r.Pass = &pass
	}
}
