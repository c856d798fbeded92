//go:build cgo && !noloadgen

package http1_test

import (
	"context"
	"fmt"
	"os"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/sut"
)

func init() {
	benchKinds["path"] = func(c benchRow, url string, m *meter) (int, error) { return benchPath(c, url, m, open) }
	benchKinds["path-ids"] = func(c benchRow, url string, m *meter) (int, error) {
		return benchPath(c, url, m, func(config *backends.Config) (backends.Backend, error) {
			config.Endpoints[0].IDs = backends.IDsRequired // an answer without its id fails
			return open(config)
		})
	}
	benchKinds["path-nethttp"] = func(c benchRow, url string, m *meter) (int, error) {
		return benchPath(c, url, m, func(config *backends.Config) (backends.Backend,
			error) {
			return nethttp.New(config, jsonProtocol)
		})
	}
}

// pathLibrary is the number of samples in LoadGen's library.
const pathLibrary = 1024

// benchPath is the way of a query in a real test: LoadGen issues, the ring, the client, the ledger, LoadGen's
// completion. Whole answers come in an Offline test, streams in a Server test that issues faster than they end.
func benchPath(c benchRow, url string, m *meter, open func(*backends.Config) (backends.Backend, error)) (int, error) {
	config := fixed(url, c.stream, c.request)
	config.Concurrency = c.conns
	b, err := open(config)
	if err != nil {
		return 0, err
	}
	book := ledger.New(1, c.requests)
	s, err := sut.New(sut.Options{Name: "bench", Backends: []backends.Backend{b}, Ledger: book, FirstTokens: c.stream,
		MaxErrors: -1})
	if err != nil {
		return 0, err
	}
	nothing := func([]int) error { return nil }
	library, err := loadgen.ConstructQSL("numbers", pathLibrary, pathLibrary, nothing, nothing, nil)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "bench-path")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	m.start()
	s.Start(context.Background())
	if _, err := loadgen.StartTest(s.LoadGen(), library, pathSettings(c), loadgen.DefaultLogSettings(dir),
		dir+"/none"); err != nil {
		return 0, err
	}
	if err := s.Wait(); err != nil {
		return 0, err
	}
	n := book.Counts()
	if n.Completed != int64(c.requests) {
		return 0, fmt.Errorf("%d requests of %d were completed", n.Completed, c.requests)
	}
	return int(n.Failed), nil
}

func pathSettings(c benchRow) loadgen.TestSettings {
	s := loadgen.DefaultTestSettings()
	s.Scenario, s.Mode = loadgen.Offline, loadgen.PerformanceOnly
	s.MinDurationMS, s.MinQueryCount = 0, uint64(c.requests)
	s.UseTokenLatencies = true
	if c.stream {
		s.Scenario, s.ServerTargetQPS, s.MaxQueryCount = loadgen.Server, 1e6, uint64(c.requests)
		s.ServerTTFTLatency, s.ServerTPOTLatency = 1e12, 1e12
	}
	return s
}
