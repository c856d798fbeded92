package main

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// scoring is what an accuracy test's answers are scored with at its end; nil where --no-score says that they are not.
func (p *program) scoring(plan *run.Plan) *run.Scoring {
	if plan.Mode != models.Accuracy || !plan.Config.Bool("score") {
		return nil
	}
	return &run.Scoring{
		Progress: p.scored(),
		Judges: func(ctx context.Context, in *accuracy.Input) (run.Judges, error) {
			js, err := p.judges(ctx, plan.Config.Text, in)
			if err != nil {
				return run.Judges{}, err
			}
			return run.Judges{Close: js.close, Notes: js.notes}, nil
		},
		Tokens: func(ctx context.Context, ds *datasets.Dataset) (accuracy.RemoteDecoder, *finder.Source, error) {
			return findDecoder(ctx, p.finding(plan), plan.Row, ds)
		},
	}
}

// finding says where a run's tokenizer is looked for.
func (p *program) finding(plan *run.Plan) finder.Options {
	c := plan.Config
	o := finder.FromEnviron(p.environ)
	o.Name, o.Revision, o.Fetch, o.Models = c.String("tokenizer"), c.String("tokenizer-revision"),
		c.Bool("fetch-tokenizer"), plan.Row.ServedModels
	// What is wrong with these two, the plan reports.
	o.Web.Proxy, _ = backends.ParseProxy(c.String("proxy"))
	o.Web.Authorities, _ = backends.Authorities(c.String("ca-file"))
	o.Web.InsecureSkipVerify = c.Bool("insecure-skip-verify")
	if endpoints, err := plan.Endpoints(); err == nil && len(endpoints) > 0 && o.Name == "" {
		o.Server = &finder.Server{URL: endpoints[0].URL, Model: c.String("served-model"),
			Key: finder.Secret(endpoints[0].APIKey)}
	}
	return o
}

// findDecoder finds what turns the answers' token ids into text. A synthetic set is written in the synthetic
// vocabulary, which the program has.
func findDecoder(ctx context.Context, o finder.Options, row *models.Row, ds *datasets.Dataset) (accuracy.RemoteDecoder,
	*finder.Source, error) {
	if o.Name == "" && datasets.Synthetic(ds) {
		return local{datasets.SynthTokensOf(row)}, &finder.Source{Way: finder.ByPath, Place: "the synthetic vocabulary"}, nil
	}
	if bench, err := accuracy.Find(row.Name); err == nil {
		o.Plain = bench.LeavesOutSpecial()
	}
	found, err := finder.Find(ctx, o)
	if err != nil {
		return nil, nil, fmt.Errorf("the answers are token ids: %w", err)
	}
	return found, &found.Source, nil
}

// local is a decoder that can not fail.
type local struct{ d accuracy.Decoder }

func (l local) Decode(_ context.Context, ids []int32, skipSpecial bool) (string, error) {
	return l.d.Decode(ids, skipSpecial), nil
}
