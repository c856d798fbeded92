package run

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
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
			return nil, exit.Usage("tokenizer", "", "%w", err)
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
func (t *test) score(ctx context.Context, logs *mllog.Result) (*accuracy.Result, *record.Score, error) {
	s := t.scorer
	switch {
	case t.plan.Mode != models.Accuracy:
		return nil, nil, nil
	case !t.plan.Config.Bool("score"):
		return nil, record.NotScored(record.LogOnly), nil
	case s == nil:
		return nil, record.NotScored("the caller gave nothing to score with; " + later), nil
	case s.notScored != "":
		return nil, record.NotScored(s.notScored), nil
	case t.ended != nil || logs == nil || !logs.Complete:
		return nil, record.NotScored("the test did not run to its end"), nil
	}
	s.input.Log, s.input.Rehearsal = filepath.Join(t.path(record.LogFolder), mllog.AccuracyName), len(t.plan.Rehearsal) > 0
	r, err := accuracy.Score(ctx, s.input)
	switch {
	case err != nil && ctx.Err() != nil: // nobody takes a test for done whose score was wanted and was not waited for
		t.ended, t.outside = fmt.Errorf("its answers were not scored: %w", context.Cause(ctx)), true
		return nil, record.NotScored("the scoring was ended early; " + later), nil
	case err != nil:
		why := fmt.Sprintf("the answers could not be scored: %v; %s", err, later)
		return nil, record.NotScored(why), nil
	}
	r.Notes = append(r.Notes, s.judges.Notes...)
	if err := record.WriteScore(t.plan.access(), t.folder, r); err != nil {
		return nil, nil, err
	}
	return r, record.ScoreOf(r), nil
}

// later is what can be done about a score that did not come about.
const later = "'mlperf-go accuracy' scores the log that the test left"
