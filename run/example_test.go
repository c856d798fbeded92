//go:build cgo && !noloadgen

package run_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/run"
)

// parrot is a custom backend that repeats the prompt. The drivers of real servers are registered by importing
// backends/openai, and are chosen by the setting "backend" in the same way.
type parrot struct{ config *backends.Config }

func init() { backends.Register("parrot", parrot{}) }

func (parrot) Describe() backends.Description { return backends.Description{} }

func (parrot) Encode(dst []byte, s *datasets.Sample, _ *backends.Config) ([]byte, error) {
	for _, id := range s.InputIDs {
		dst = append(dst, byte(id))
	}
	return dst, nil
}

func (parrot) Open(c *backends.Config) (backends.Backend, error) { return parrot{c}, nil }

func (parrot) Probe(_ context.Context, e backends.Endpoint, c *backends.Config, _ *datasets.Sample,
	_ bool) (*backends.Probe, error) {
	return &backends.Probe{URL: e.URL, Models: []string{c.ServedModel}}, nil
}

func (parrot) Features() backends.Features { return backends.Features{} }

func (p parrot) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	queries := make([]loadgen.Query, 64)
	for {
		n, open := src.Wait(queries, time.Second)
		if !open {
			return nil
		}
		for _, q := range queries[:n] {
			o := &backends.Outcome{UsageTokens: -1, InputTokens: -1, TokenSource: backends.TokensFromIDs,
				SentNS: time.Now().UnixNano()}
			if ctx.Err() != nil {
				o.Reason = backends.FailCancelled
			} else {
				for _, b := range p.config.Body(q.Index) {
					o.Tokens = append(o.Tokens, int32(b))
				}
				o.NTokens, o.LastTokenNS = len(o.Tokens), time.Now().UnixNano()
			}
			sink.Complete(q, o)
		}
	}
}

// One test from Go code, with a data set made in memory and a backend found by name. A process can run only one test,
// because LoadGen keeps state.
func Example() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	set, err := datasets.New([]datasets.Sample{{InputIDs: []int32{1, 2, 3}}, {InputIDs: []int32{1, 4}}},
		datasets.Options{Schema: "mine"})
	if err != nil {
		log.Fatal(err)
	}
	plan, err := run.New(run.Settings{
		"model": "generic", "served-model": "parrot", "backend": "parrot", "endpoint": "http://in-this-process",
		"scenario": "Offline", "min-queries": "64", "min-duration": "0", "output-dir": filepath.Join(folder, "run"),
	})
	if err != nil {
		log.Fatal(err)
	}
	plan.Dataset = set
	record, err := run.Run(context.Background(), plan, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(record.Verdict, record.Scenario, record.Samples.Completed, "samples,", record.Samples.Failed, "failed")
	// Output: VALID Offline 64 samples, 0 failed
}
