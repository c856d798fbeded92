package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
)

// TestBenchRunOverHTTP2 runs the command against net/http's server over TLS: requests use HTTP/2 with --http2 where the
// server offers it, and HTTP/1.1 otherwise. Every answer counts in both.
func TestBenchRunOverHTTP2(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	sim, _ := startSim(deferring{t}, ready, "--ttft", "5ms", "--tpot", "1ms")
	profile := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, os.WriteFile(profile, []byte("schema: mlperf-go/profile/1\nname: h2\nseed: 3\nslo: {ttft: 60s}\n"+
		"data: {kind: random, input: 20, output: 8}\nload: {stages: [{arrival: closed, concurrency: 8, requests: 100}]}\n"),
		0o600))
	for name, c := range map[string]struct {
		offered bool
		flags   []string
		version int // of HTTP, of all requests
	}{
		"asked and offered": {true, []string{"--http2"}, 2},
		"only offered":      {true, nil, 1},
		"only asked":        {false, []string{"--http2"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var requests [3]atomic.Int64 // by version of HTTP
			forward := simtest.Forward(t, sim)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					requests[r.ProtoMajor].Add(1)
				}
				forward.ServeHTTP(w, r)
			}))
			server.EnableHTTP2 = c.offered
			server.StartTLS()
			defer server.Close()
			dir := t.TempDir()
			ca := filepath.Join(dir, "ca.pem")
			require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
				Bytes: server.Certificate().Raw}), 0o600))

			var stdout, stderr bytes.Buffer
			args := append([]string{"mlperf-go", "--no-progress", "bench", "run", "-w", profile, "--endpoint-url", server.URL,
				"--ca-file", ca, "--output", filepath.Join(dir, "run")}, c.flags...)
			require.Zero(t, mainCode(args, nil, &stdout, &stderr), "%s%s", &stdout, &stderr)
			r, err := bench.Read(filepath.Join(dir, "run"))
			require.NoError(t, err)
			require.Equal(t, record.Valid, r.Verdict)
			total := r.Measured.Total
			require.EqualValues(t, []int64{100, 0, 800}, []int64{total.Requests.OK, total.Requests.Failed, total.Tokens.Output})
			sent := fmt.Sprint(requests[1].Load(), requests[2].Load())
			require.GreaterOrEqual(t, requests[c.version].Load(), int64(100), sent)
			require.Zero(t, requests[3-c.version].Load(), sent)

		})
	}
}
