package run

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Scoring is what the answers of an accuracy test are scored with at its end.
type Scoring struct {
	// Tokens finds what decodes the answers; it is asked before the test starts, and only where answers are token ids.
	Tokens func(ctx context.Context, ds *datasets.Dataset) (accuracy.RemoteDecoder, *finder.Source, error)
	// Judges sets what decides what the scorers can not, before the test starts; nil: programs stay unscored.
	Judges func(ctx context.Context, in *accuracy.Input) (Judges, error)
	// Progress is told how many answers are scored.
	Progress func(done, total int)
}

// Judges are what a scoring has open.
type Judges struct {
	Close func() error
	Notes []string // how they judge
}

// Score is what a run's record says of its answers.
type Score struct {
	NotScored string              `json:"not_scored,omitempty"` // why there is no score
	Pass      *bool               `json:"pass"`                 // null: nothing is claimed
	Metrics   []accuracy.Metric   `json:"metrics"`
	Samples   int                 `json:"samples"`
	Missing   int                 `json:"missing,omitempty"`
	Unscored  []accuracy.Unscored `json:"unscored,omitempty"`  // answers that only a judge could score
	Unclaimed []string            `json:"unclaimed,omitempty"` // why nothing is claimed, whatever the figures
	Notes     []string            `json:"notes,omitempty"`
	Tokenizer *finder.Source      `json:"tokenizer,omitempty"` // what decoded the answers
}

// scorer is a scoring that is ready, made before the test starts so that what is missing is told before hours are
// spent.
type scorer struct {
	input     accuracy.Input
	judges    Judges
	notScored string
}

// keep makes the data set's reader keep what scoring and the simulator read; a column that the user has renamed is kept
// under its name.
func (p *Plan) keep(o datasets.Options) datasets.Options {
	if p.Mode != models.Accuracy || p.Scoring == nil {
		return o
	}
	for _, name := range p.Row.Scoring.Columns.Names() {
		at := slices.IndexFunc(p.Row.Columns, func(c models.Column) bool { return c.Name == name })
		if renamed := o.Overrides[p.Row.Columns[at].Role]; renamed != "" {
			name = renamed
		}
		o.Keep = append(o.Keep, name)
	}
	return o
}

// newScorer gets references, sentence parameters and the tokenizer. It is nil where nothing is to be scored.
func (p *Plan) newScorer(ctx context.Context, ds *datasets.Dataset) (*scorer, error) {
	if p.Mode != models.Accuracy || p.Scoring == nil {
		return nil, nil
	}
	bench, err := accuracy.Find(p.Row.Name)
	if err != nil {
		return &scorer{notScored: "the model " + p.Row.Name + " has no scorer"}, nil
	}
	refs, err := bench.References(ds)
	if err != nil {
		return &scorer{notScored: err.Error()}, nil
	}
	if !slices.ContainsFunc(refs, func(r accuracy.Reference) bool { return r.Target != "" }) {
		return &scorer{notScored: fmt.Sprintf("the data set has no references in its column %s",
			p.Row.Scoring.Columns.Target)}, nil
	}
	s := &scorer{input: accuracy.Input{
		Benchmark: p.Row.Name, Round: p.Round.Name, Scenario: p.Scenario.Scenario, References: refs,
		Progress: p.Scoring.Progress,
	}}
	if s.input.Punkt, err = accuracy.EnglishPunkt(); err != nil {
		return nil, err
	}
	if bench.NeedsTokenizer() {
		s.input.Remote, s.input.Tokenizer, err = p.Scoring.Tokens(ctx, ds)
		switch {
		case err != nil && (p.Config.Has("tokenizer") || ctx.Err() != nil):
			return nil, usage("tokenizer", err, "")
		case err != nil:
			return &scorer{notScored: err.Error()}, nil
		}
	}
	if p.Scoring.Judges != nil {
		s.judges, err = p.Scoring.Judges(ctx, &s.input)
	}
	return s, err
}

// close ends what the judges hold. It may be called twice, and of no scorer.
func (s *scorer) close() error {
	if s == nil || s.judges.Close == nil {
		return nil
	}
	end := s.judges.Close
	s.judges.Close = nil
	return end()
}

// score scores the log of a test that ran to its end and leaves accuracy.txt and accuracy.json. It returns no Score for
// other tests than accuracy tests, and one without figures where nothing was scored.
func (t *test) score(ctx context.Context, logs *mllog.Result) (*accuracy.Result, *Score, error) {
	s := t.scorer
	switch {
	case t.plan.Mode != models.Accuracy:
		return nil, nil, nil
	case !t.plan.Config.Bool("score"):
		return nil, notScored(LogOnly), nil
	case s == nil:
		return nil, notScored("the caller gave nothing to score with; " + later), nil
	case s.notScored != "":
		return nil, notScored(s.notScored), nil
	case t.ended != nil || logs == nil || !logs.Complete:
		return nil, notScored("the test did not run to its end"), nil
	}
	s.input.Log, s.input.Rehearsal = filepath.Join(t.path(LogFolder), mllog.AccuracyName), len(t.plan.Rehearsal) > 0
	r, err := accuracy.Score(ctx, s.input)
	switch {
	case err != nil && ctx.Err() != nil: // nobody takes a test for done whose score was wanted and was not waited for
		t.ended, t.outside = fmt.Errorf("its answers were not scored: %w", context.Cause(ctx)), true
		return nil, notScored("the scoring was ended early; " + later), nil
	case err != nil:
		why := fmt.Sprintf("the answers could not be scored: %v; %s", err, later)
		return nil, notScored(why), nil
	}
	r.Notes = append(r.Notes, s.judges.Notes...)
	if err := WriteScore(t.plan.access(), t.folder, r); err != nil {
		return nil, nil, err
	}
	return r, &Score{
		Pass: r.Pass, Metrics: r.Metrics, Samples: r.Samples, Missing: r.Missing, Unscored: r.Unscored,
		Unclaimed: r.Unclaimed, Notes: r.Notes, Tokenizer: r.Tokenizer,
	}, nil
}

// later is what can be done about a score that did not come about.
const later = "'mlperf-go accuracy' scores the log that the test left"

// CodeNotScored is the verdict's code for answers without a score. A score that is made later takes its place.
const CodeNotScored = "not_scored"

// LogOnly stands in the record of an accuracy test that was asked for its log alone.
const LogOnly = "--no-score asks for the log only"

// LogOnly reports whether the record is of an accuracy test whose answers were not to be scored.
func (r *Record) LogOnly() bool { return r.Accuracy != nil && r.Accuracy.NotScored == LogOnly }

func notScored(why string) *Score { return &Score{NotScored: why, Metrics: []accuracy.Metric{}} }

// WriteScore writes accuracy.txt and accuracy.json into a folder.
func WriteScore(access atomicfile.Access, folder string, r *accuracy.Result) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{{AccuracyTextName, r.WriteText}, {AccuracyName, r.WriteJSON}} {
		if err := access.Write(filepath.Join(folder, f.name), f.write); err != nil {
			return err
		}
	}
	return nil
}

// ruleAccuracy: a test whose score is below the benchmark's target is done and not valid. What could not be scored
// claims nothing.
func ruleAccuracy(e *evidence) *Cause {
	if e.score == nil {
		return nil
	}
	short := e.score.Short(len(e.plan.Rehearsal) > 0)
	if len(short) == 0 {
		return nil
	}
	text := "the answers are below target:"
	for i, m := range short {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %s is %s and must be %s", m.Name, strings.Trim(m.Text, "'"), m.Bounds())
	}
	c := &Cause{Code: "accuracy_below_target", Text: text, Value: short[0].Value, Limit: short[0].Min}
	if short[0].Value >= short[0].Min {
		c.Limit = short[0].Max
	}
	return c
}

// ruleUnclaimed: a score over a part of the data set, or of a log that is none of one accuracy test, is none.
func ruleUnclaimed(e *evidence) *Cause {
	if e.score == nil || len(e.score.Unclaimed) == 0 {
		return nil
	}
	return &Cause{Code: "accuracy_below_target", Text: strings.Join(e.score.Unclaimed, "; "),
		Value: len(e.score.Unclaimed), Limit: 0}
}

// ruleNotScored: an accuracy test is worth its score. Without --no-score, answers that nothing has scored make it
// INVALID. Where the test did not run to its end, other rules report why.
func ruleNotScored(e *evidence) *Cause {
	if e.plan.Mode != models.Accuracy || !e.plan.Config.Bool("score") || e.ended != nil || e.logs == nil ||
		!e.logs.Complete {
		return nil
	}
	const logOnly = "; --no-score asks for the log only"
	s := e.record.Accuracy
	if s == nil || s.NotScored != "" {
		why := "nothing was there to score them with"
		if s != nil {
			why = s.NotScored
		}
		return &Cause{Code: "not_scored", Text: "the answers were not scored: " + why + logOnly,
			Value: e.record.Samples.Completed, Limit: 0}
	}
	n, parts := 0, ""
	for _, u := range s.Unscored {
		n += u.Samples
		parts += fmt.Sprintf("; %d of %s: %s", u.Samples, u.Subset, u.Why)
	}
	if n == 0 {
		return nil
	}
	return &Cause{Code: "not_scored", Text: fmt.Sprintf("%d of %d answers were not scored%s%s", n,
		e.record.Samples.Completed, parts, logOnly), Value: n, Limit: 0}
}
