package main

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

// counter is a driver whose server counts on from the last token of a prompt. It lives in this process; one with a wire
// of its own would connect to config.Endpoints.
type counter struct{}

func (counter) Describe() backends.Description { return backends.Description{} }

func (counter) Encode(dst []byte, s *datasets.Sample, _ *backends.Config) ([]byte, error) {
	return append(dst, byte(s.InputIDs[len(s.InputIDs)-1])), nil
}

func (counter) Open(c *backends.Config) (backends.Backend, error) { return &server{c}, nil }

func (counter) Probe(_ context.Context, e backends.Endpoint, c *backends.Config, _ *datasets.Sample,
	_ bool) (*backends.Probe, error) {
	return &backends.Probe{URL: e.URL, Server: "counter", Models: []string{c.ServedModel}}, nil
}

type server struct{ config *backends.Config }

// Serve reports first token and answer of a query from one OS thread, as LoadGen requires.
func (*server) Features() backends.Features { return backends.Features{} }

func (s *server) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	queries := make([]loadgen.Query, 64)
	for {
		n, open := src.Wait(queries, time.Second)
		if !open {
			return nil
		}
		for _, q := range queries[:n] {
			s.answer(ctx, q, sink)
		}
	}
}

func (s *server) answer(ctx context.Context, q loadgen.Query, sink backends.Sink) {
	o := &backends.Outcome{UsageTokens: -1, InputTokens: 2, SentNS: time.Now().UnixNano(),
		TokenSource: backends.TokensFromIDs}
	if ctx.Err() != nil {
		o.Reason = backends.FailCancelled
		sink.Complete(q, o)
		return
	}
	last := int32(s.config.Body(q.Index)[0])
	o.Tokens, o.NTokens = []int32{last + 1, last + 2, last + 3}, 3
	o.FirstTokenNS = time.Now().UnixNano()
	sink.FirstToken(q, o.Tokens[:1], o.FirstTokenNS)
	o.LastTokenNS = time.Now().UnixNano()
	sink.Complete(q, o)
}

func main() {
	backends.Register("counter", counter{})
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	record, err := measure(filepath.Join(folder, "run"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d of %d samples answered, %d tokens\n",
		record.Verdict, record.Samples.Completed-record.Samples.Failed, record.Samples.Issued, record.Tokens.Output)
	for _, cause := range record.Reasons {
		fmt.Println(cause.Code, cause.Text)
	}
}

// measure runs one test. LoadGen keeps state, so a process can run only one test.
func measure(folder string) (*run.Record, error) {
	var prompts []datasets.Sample
	for i := range int32(100) {
		prompts = append(prompts, datasets.Sample{InputIDs: []int32{1, i}})
	}
	set, err := datasets.New(prompts, datasets.Options{Schema: "numbers", Vocabulary: 1000})
	if err != nil {
		return nil, err
	}
	plan, err := run.New(run.Settings{
		"model": "generic", "served-model": "counter", "scenario": "Server", "backend": "counter",
		"endpoint":   "http://in-this-process",
		"target-qps": "500", "min-queries": "500", "min-duration": "100ms", "output-dir": folder,
	})
	if err != nil {
		return nil, err
	}
	plan.Dataset = set
	return run.Run(context.Background(), plan, nil)
}
