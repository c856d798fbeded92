// Command sut runs one LoadGen test over a system under test of its own: the answer to a sample is its index.
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
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/sut"
)

const samples = 128

type echo struct{}

func (echo) Features() backends.Features { return backends.Features{} }

func (echo) Serve(_ context.Context, source loadgen.Source, sink backends.Sink) error {
	runtime.LockOSThread() // LoadGen needs the first token and the answer from one thread
	defer runtime.UnlockOSThread()
	queries := make([]loadgen.Query, 64)
	for {
		n, open := source.Wait(queries, time.Second)
		if !open {
			return nil
		}
		for _, q := range queries[:n] {
			now := time.Now().UnixNano()
			sink.Complete(q, &backends.Outcome{Tokens: []int32{int32(q.Index), 1}, NTokens: 2, UsageTokens: -1,
				TokenSource: ledger.TokensFromIDs, SentNS: now, FirstTokenNS: now, LastTokenNS: now})
		}
	}
}

func main() {
	folder, err := os.MkdirTemp("", "sut")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	book := ledger.New(1, samples)
	system, err := sut.New(sut.Options{Name: "echo", Backends: []backends.Backend{echo{}}, Ledger: book, MaxErrors: -1})
	if err != nil {
		log.Fatal(err)
	}
	nothing := func([]int) error { return nil }
	library, err := loadgen.ConstructQSL("numbers", samples, samples, nothing, nothing, nil)
	if err != nil {
		log.Fatal(err)
	}
	system.Start(context.Background())
	settings := loadgen.DefaultTestSettings()
	settings.Scenario, settings.MinDurationMS, settings.MinQueryCount = loadgen.Offline, 0, samples
	_, err = loadgen.StartTest(system.LoadGen(), library, settings, loadgen.DefaultLogSettings(folder),
		filepath.Join(folder, "audit.config"))
	if err != nil {
		log.Fatal(err)
	}
	if err := system.Wait(); err != nil {
		log.Fatal(err)
	}
	loadgen.DestroyQSL(library)
	fmt.Println(samples, "answered")
}
