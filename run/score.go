package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// scorer is a scoring that is ready. It is made before the test, so that a missing part is reported before hours are
// spent.
type scorer struct {
	input     accuracy.Input
	judges    plan.Judges
	notScored string
}

// newScorer loads references, sentence parameters and the tokenizer. It returns nil if the answers will not be scored.
func newScorer(ctx context.Context, p *plan.Plan, ds *datasets.Dataset) (*scorer, error) {
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
		Progress: p.Scoring.Progress, NotJudged: plan.NotJudged(p.Rehearsal, ds),
	}}
	if s.input.Punkt, err = accuracy.EnglishPunkt(); err != nil {
		return nil, err
	}
	if bench.NeedsTokenizer() {
		s.input.Remote, s.input.Tokenizer, err = p.Scoring.Tokens(ctx, ds)
		switch {
		case err != nil && (p.Config.Has("tokenizer") || ctx.Err() != nil):
			return nil, exit.Usage(exit.CodeTokenizer, "", "%w", err)
		case err != nil:
			return &scorer{notScored: err.Error()}, nil
		}
	}
	if c := p.Config; datasets.AsksForPrograms(p.Row) && !c.IsSet("run-code") && !c.Has("code-service") {
		return &scorer{notScored: "nothing runs the programs among them; pass --run-code or --code-service URL, or " +
			"--run-code=false to leave them without a score"}, nil
	}
	if p.Scoring.Judges != nil {
		s.judges, err = p.Scoring.Judges(ctx, &s.input)
	}
	return s, err
}

// refusal returns why a test whose answers could not be scored must not start. It may be called on nil.
func (s *scorer) refusal() error {
	if s == nil || s.notScored == "" {
		return nil
	}
	return exit.Usage(exit.CodeNotScored, "--no-score asks for the log only",
		"the answers could not be scored: %s", s.notScored)
}

// close closes the judges. It may be called twice, and on nil.
func (s *scorer) close() error {
	if s == nil || s.judges.Close == nil {
		return nil
	}
	end := s.judges.Close
	s.judges.Close = nil
	return end()
}

// score scores the log of a test that ran to its end and writes accuracy.txt and accuracy.json. It returns no Score for
// other tests than accuracy tests, and one without figures if nothing was scored.
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
	s.input.Log, s.input.Rehearsal = t.accuracyLog(), len(t.plan.Rehearsal) > 0
	r, err := accuracy.Score(ctx, s.input)
	switch {
	case err != nil && ctx.Err() != nil: // such a test must not pass as finished
		t.ended, t.outside = fmt.Errorf("its answers were not scored: %w", context.Cause(ctx)), true
		return nil, record.NotScored("the scoring was ended early; " + later), nil
	case err != nil:
		why := fmt.Sprintf("the answers could not be scored: %v; %s", err, later)
		return nil, record.NotScored(why), nil
	}
	r.Notes = append(r.Notes, s.judges.Notes...)
	if err := record.WriteScore(t.plan.Access(), t.folder, r); err != nil {
		return nil, nil, err
	}
	return r, record.ScoreOf(r), nil
}

// later is the advice for a missing score.
const later = "'mlperf-go accuracy' scores the log that the test left"
