package prompts

import (
	"strings"

	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/trace"
)

// newTrace returns requests with the lengths of a trace. Rows with equal prefix blocks begin with equal texts.
func newTrace(p *profile.Profile, o Options) (Source, error) {
	read := o.ReadTrace
	if read == nil {
		read = trace.Read
	}
	t, err := read(p.Data.Trace)
	if err != nil {
		return nil, err
	}
	if err := t.CheckLengths(p.Data.Trace, p.Data.Output == nil); err != nil {
		return nil, err
	}
	w, err := newWriter(o.Tokenizer, p.Data.Corpus)
	if err != nil {
		return nil, err
	}
	rows, lengths := t.Len(), *t
	lengths.TimesNS = nil // they would take memory, and are the load's at most
	if p.Data.Rows > 0 {
		rows = min(rows, p.Data.Rows)
	}
	return &single{rows: rows, fill: func(row int, r *Request) error {
		r.Input, r.Output = max(1, int(lengths.Input[row])), int(lengths.Output[row])
		if p.Data.Output != nil {
			r.Output = output(p.Data.Output, source(p.Seed, lengthStream, row))
		}
		var text strings.Builder
		left := r.Input
		for _, id := range lengths.BlocksOf(nil, row) {
			n := min(left, lengths.BlockTokens)
			text.WriteString(w.text(source(p.Seed, prefixStream, int(id)), n))
			if left -= n; left == 0 {
				break
			}
		}
		text.WriteString(w.text(source(p.Seed, textStream, row), left))
		r.Text = text.String()
		return nil
	}}, nil
}
