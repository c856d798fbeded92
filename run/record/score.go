package record

import (
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Score is the score of an accuracy test's answers.
type Score struct {
	NotScored string              `json:"not_scored,omitempty"` // why there is no score
	NotJudged string              `json:"not_judged,omitempty"` // why no target applies to the score
	Pass      *bool               `json:"pass"`                 // null: no score is claimed
	Metrics   []accuracy.Metric   `json:"metrics"`
	Samples   int                 `json:"samples"`
	Missing   int                 `json:"missing,omitempty"`
	Unscored  []accuracy.Unscored `json:"unscored,omitempty"`  // answers that only a judge could score
	Unclaimed []string            `json:"unclaimed,omitempty"` // why no score is claimed, whatever the figures
	Notes     []string            `json:"notes,omitempty"`
	Tokenizer *finder.Source      `json:"tokenizer,omitempty"` // decoded the answers
}

// LogOnly is Score.NotScored of an accuracy test that was asked for its log alone.
const LogOnly = "--no-score asks for the log only"

// NotScored returns a score without figures.
func NotScored(why string) *Score { return &Score{NotScored: why, Metrics: []accuracy.Metric{}} }

// ScoreOf returns the part of a result that the record contains.
func ScoreOf(r *accuracy.Result) *Score {
	return &Score{
		NotJudged: r.NotJudged, Pass: r.Pass, Metrics: r.Metrics, Samples: r.Samples, Missing: r.Missing,
		Unscored: r.Unscored, Unclaimed: r.Unclaimed, Notes: r.Notes, Tokenizer: r.Tokenizer,
	}
}

// WriteScore writes accuracy.txt and accuracy.json into a folder.
func WriteScore(access atomicfile.Access, folder string, r *accuracy.Result) error {
	if err := access.Write(filepath.Join(folder, AccuracyTextName), r.WriteText); err != nil {
		return err
	}
	return access.Write(filepath.Join(folder, AccuracyName), r.WriteJSON)
}

// Recount compares the servers' token counts of an accuracy test with those of the tokenizer in the text of the same
// answers. They differ where an answer ends in a token without text, contains hidden reasoning, or was split into other
// tokens than its text would be.
type Recount struct {
	Samples    int   `json:"samples"`
	Server     int64 `json:"server"`
	Tokenizer  int64 `json:"tokenizer"`
	Apart      int   `json:"apart"`       // number of samples whose counts differ by more than one
	LargestGap int64 `json:"largest_gap"` // largest difference of one sample's counts, in tokens
}
