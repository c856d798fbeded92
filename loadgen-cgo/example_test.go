//go:build cgo && !noloadgen

package loadgen_test

import (
	"fmt"
	"log"
	"os"
	"runtime"
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// A custom system under test: it takes each query from its shard and answers it on the same OS thread.
func Example() {
	dir, err := os.MkdirTemp("", "loadgen")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sut, err := loadgen.ConstructSUT("forty-lines", 1, 1024)
	if err != nil {
		log.Fatal(err)
	}
	defer loadgen.DestroySUT(sut)
	nothing := func([]int) error { return nil }
	qsl, err := loadgen.ConstructQSL("numbers", 64, 64, nothing, nothing, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer loadgen.DestroyQSL(qsl)

	answered := make(chan int)
	go func() {
		runtime.LockOSThread() // LoadGen requires a sample's first token and answer from one thread
		shard, queries, n := sut.Shards()[0], make([]loadgen.Query, 64), 0
		for {
			k, open := shard.Wait(queries, time.Second)
			if !open {
				answered <- n
				return
			}
			for _, q := range queries[:k] {
				shard.QuerySamplesComplete(q.ID, []int32{int32(q.Index), 2}, 2)
				n++
			}
		}
	}()

	settings := loadgen.DefaultTestSettings()
	settings.Scenario, settings.MinDurationMS, settings.MinQueryCount = loadgen.Offline, 0, 256
	if _, err := loadgen.StartTest(sut, qsl, settings, loadgen.DefaultLogSettings(dir),
		dir+"/no-audit.config"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-answered, "samples answered")
	// Output: 256 samples answered
}
