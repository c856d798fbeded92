package score

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Plan returns what a test's answers are scored with at its end; nil where the test is not to be scored.
func Plan(p *plan.Plan, environ []string, progress func(done, total int)) *plan.Scoring {
	if p.Mode != models.Accuracy || !p.Config.Bool("score") {
		return nil
	}
	return &plan.Scoring{
		Progress: progress,
		Judges: func(ctx context.Context, in *accuracy.Input) (plan.Judges, error) {
			j, err := OpenJudges(ctx, environ, p.Config.Text, in)
			if err != nil {
				return plan.Judges{}, err
			}
			return plan.Judges{Close: j.Close, Notes: j.Notes}, nil
		},
		Tokens: func(ctx context.Context, ds *datasets.Dataset) (accuracy.RemoteDecoder, *finder.Source, error) {
			return Decoder(ctx, TokenizerOf(p, environ), p.Row, ds)
		},
	}
}

// TokenizerOf returns where the tokenizer of a plan's test is looked for.
func TokenizerOf(p *plan.Plan, environ []string) finder.Options {
	c := p.Config
	o := finder.FromEnviron(environ)
	o.Name, o.Revision, o.Fetch, o.Models = c.String("tokenizer"), c.String("tokenizer-revision"),
		c.Bool("fetch-tokenizer"), p.Row.ServedModels
	// The plan itself reports errors in these settings.
	o.Web.Proxy, _ = backends.ParseProxy(c.String("proxy"))
	o.Web.Authorities, _ = backends.Authorities(c.String("ca-file"))
	o.Web.Certificates, _ = backends.ClientCertificates(c.String("client-cert"), c.String("client-key"))
	o.Web.InsecureSkipVerify = c.Bool("insecure-skip-verify")
	if endpoints, err := p.Endpoints(); err == nil && o.Name == "" { // without an endpoint the call fails
		o.Server = &finder.Server{URL: endpoints[0].URL, Model: c.String("served-model"),
			Key: finder.Secret(endpoints[0].APIKey)}
	}
	return o
}

// Decoder finds what turns the answers' token ids into text. A synthetic set uses the built-in synthetic vocabulary.
func Decoder(ctx context.Context, o finder.Options, row *models.Row, ds *datasets.Dataset) (accuracy.RemoteDecoder,
	*finder.Source, error) {
	if o.Name == "" && datasets.Synthetic(ds) {
		return local{datasets.SynthTokensOf(row)}, &finder.Source{Way: finder.ByPath, Place: "the synthetic vocabulary"}, nil
	}
	if bench, err := accuracy.Find(row.Name); err == nil {
		o.Plain = bench.LeavesOutSpecial()
	}
	found, err := finder.Find(ctx, o)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot decode the answers' token ids: %w", err)
	}
	return found, &found.Source, nil
}

// local adapts a decoder that cannot fail.
type local struct{ d accuracy.Decoder }

func (l local) Decode(_ context.Context, ids []int32, skipSpecial bool) (string, error) {
	return l.d.Decode(ids, skipSpecial), nil
}
