package run

import (
	"context"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// findCounter finds the tokenizer of --tokenizer, which counts the text of answers without ids or a count. A benchmark
// that needs ids does not use it.
func (in *inputs) findCounter(ctx context.Context) error {
	p := in.plan
	if p.Counter == nil || in.config.NeedIDs || p.Config.String("tokenizer") == "" {
		return nil
	}
	found, err := p.Counter(ctx)
	if err != nil {
		return exit.Usage(exit.CodeTokenizer, "", "%w", err)
	}
	in.counter = &found.Source
	in.config.CountText = func(text []byte) (int, error) { return found.Count(context.Background(), string(text)) }
	return nil
}

// recountShare is how far the sums may differ before a note reports it: tokenizing a text again changes counts by a few
// percent.
const recountShare = 0.05

// recount reads the answers' texts from log, LoadGen's accuracy log. It returns nil without a tokenizer, or if the
// servers counted nothing.
func (e *evidence) recount(r *record.Record, data *ledger.Test, log string) (*record.Recount, error) {
	if e.counter == nil || e.plan.Mode != models.Accuracy || r.Tokens.Source != ledger.TokensFromUsage {
		return nil, nil
	}
	counted := map[int64]int64{} // by sample, each of which an accuracy test issues once
	for i := range data.Entries {
		if entry := &data.Entries[i]; entry.Succeeded() {
			counted[int64(entry.Index)] = int64(entry.OutputTokens)
		}
	}
	c := &record.Recount{}
	_, err := mllog.ReadAccuracyFile(log,
		func(answer *mllog.AccuracyEntry) error {
			server := counted[answer.QSLIdx]
			if server == 0 {
				return nil // it failed
			}
			n, err := e.config.CountText(answer.Data)
			if err != nil {
				return err
			}
			gap := max(server-int64(n), int64(n)-server)
			c.Samples++
			c.Server, c.Tokenizer, c.LargestGap = c.Server+server, c.Tokenizer+int64(n), max(c.LargestGap, gap)
			if gap > 1 {
				c.Apart++
			}
			return nil
		})
	if err != nil || c.Samples == 0 {
		return nil, err
	}
	if gap := float64(c.Server - c.Tokenizer); math.Abs(gap) > recountShare*float64(c.Server) {
		r.Notes = append(r.Notes, fmt.Sprintf("the servers count %d output tokens where %s has %d in the text of the same "+
			"%d answers: check whether the tokenizer is the model's, and whether answers contain more than text",
			c.Server, e.counter.Place, c.Tokenizer, c.Samples))
	}
	return c, nil
}

// countedBy returns the tokenizer that counted tokens of the record; nil: only the servers did.
func (e *evidence) countedBy(r *record.Record) *finder.Source {
	if r.Tokens.Recount == nil && !r.Tokens.Source.Includes(ledger.TokensFromTokenizer) {
		return nil
	}
	return e.counter
}
