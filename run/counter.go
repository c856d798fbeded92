package run

import (
	"context"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// findCounter finds the tokenizer of --tokenizer, which counts the text of answers that come with neither ids nor a count. A
// benchmark that needs ids has no use for it.
func (t *test) findCounter(ctx context.Context) error {
	p := t.plan
	if p.Counter == nil || t.config.NeedIDs || p.Config.String("tokenizer") == "" {
		return nil
	}
	found, err := p.Counter(ctx)
	if err != nil {
		return usage("tokenizer", err, "")
	}
	t.counter = &found.Source
	t.config.CountText = func(text []byte) (int, error) { return found.Count(context.Background(), string(text)) }
	return nil
}

// countedBy is the tokenizer that has counted tokens of the record; nil: the servers did.
func (t *test) countedBy(r *Record) *finder.Source {
	if !strings.Contains(r.Tokens.Source, string(backends.TokensFromTokenizer)) {
		return nil
	}
	return t.counter
}
