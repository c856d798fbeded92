package plan

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/datasets"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
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

// Terms are what the plan demands of the test.
func (p *Plan) Terms() record.Terms {
	c := p.Config
	return record.Terms{
		Mode: p.Mode, Scenario: p.Scenario.Scenario, Rehearsal: len(p.Rehearsal) > 0, Audit: c.Has("audit-config"),
		Score: c.Bool("score"), TokenLatencies: p.Row.UseTokenLatencies, FirstTokens: p.FirstTokens(),
		TTFTLimit: c.Duration("ttft-limit"), TPOTLimit: c.Duration("tpot-limit"), AnswerLimit: p.latencyLimit(),
	}
}

// FirstTokens reports whether LoadGen expects a first token of every sample.
func (p *Plan) FirstTokens() bool {
	return p.Row.UseTokenLatencies && p.Scenario.LoadGen != models.Offline
}

// LoadGenNotes warn of another LoadGen than the pinned one, and of another round than the pinned one's: a submitter may
// want either, but then knowingly.
func (p *Plan) LoadGenNotes() []string {
	var notes []string
	if v := loadgen.Version(); v != record.PinnedLoadGen {
		notes = append(notes, fmt.Sprintf("LoadGen %s @ %s is linked, not the pinned %s", v, loadgen.Revision(),
			record.PinnedLoadGen))
	}
	if p.Round.Name != rounds.Current {
		notes = append(notes, fmt.Sprintf("the run is for round %s: its seeds are given to LoadGen %s, whose own are those "+
			"of %s", p.Round.Name, loadgen.Version(), rounds.Current))
	}
	return notes
}
