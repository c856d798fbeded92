package bench_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/mlperf-go/mlperf-go/backends/openai" // registers the protocols
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/sim"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/catalog"
	"github.com/mlperf-go/mlperf-go/workload/dialect"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// simulate starts the simulator and returns its URL.
func simulate(t *testing.T) string {
	url, _ := simulator(t, 100*time.Microsecond)
	return url
}

// simulator is simulate with another time per token, and returns the server too.
func simulator(t *testing.T, tpot time.Duration) (string, *sim.Server) {
	return runtest.Simulate(t, time.Millisecond, tpot)
}

// TestEveryProfileRehearses sends a few requests of every predefined profile to the simulator. None may fail. A profile
// whose data are missing on this machine gets made-up ones.
func TestEveryProfileRehearses(t *testing.T) {
	url := simulate(t)
	for _, f := range catalog.All() {
		t.Run(f.Harness+"/"+f.Name, func(t *testing.T) {
			p, err := f.Read(dialect.Options{})
			require.NoError(t, err)
			if p.Data.Kind == profile.None {
				t.Skip("it sends nothing")
			}
			folder := t.TempDir()
			small, notes, err := bench.Rehearse(p, filepath.Join(folder, bench.MadeUpName), atomicfile.Private)
			require.NoError(t, err)
			isFile := p.Data.Path != "" || p.Data.Trace != nil
			require.Equal(t, isFile, len(notes) > 0, "%v", notes)
			r, err := bench.Run(t.Context(), bench.Options{Profile: small, Endpoints: []string{url}, Folder: folder,
				Rehearsal: bench.RehearsalReason})
			require.NoError(t, err)
			schematest.Records(t, folder)
			require.Equal(t, record.SimulatorReason+"; "+bench.RehearsalReason, r.Rehearsal)
			sent := r.Measured.Total.Requests
			require.Zero(t, sent.Failed, "%v", r.Reasons)
			require.Positive(t, sent.OK)
			require.LessOrEqual(t, sent.OK, int64(60))
			require.NotEqual(t, record.Interrupted, r.Verdict)
			if p.Data.Kind == profile.Recorded {
				require.EqualValues(t, 12, sent.OK, "two sessions of six calls")
			}
		})
	}
}

// TestRandomDataOfVLLM: the profiles of vllm whose data are passages, images, or questions are sent as they ask.
func TestRandomDataOfVLLM(t *testing.T) {
	url, speed := simulate(t), t.TempDir()
	rows := `{"category": "qa", "messages": [{"role": "user", "content": "Why?"}]}` + "\n" + `{"category": "math"}` + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(speed, "qualitative.jsonl"), []byte(rows), 0o600))
	for text, input := range map[string]int64{
		"backend: vllm-rerank\ndataset-name: random-rerank\nrandom-batch-size: 4\n": 160, // four pairs of 40 tokens
		"backend: vllm-rerank\n": 40,
		"backend: vllm-rerank\ndataset-name: random-rerank\nno-reranker: none\nrandom-batch-size: 4\n": 3 * 81,
		"backend: openai-chat\nendpoint: /v1/chat/completions\ndataset-name: speed_bench\nspeed-bench-category: qa\n" +
			"speed-bench-output-len: 3\ndataset-path: " + speed + "\n": 0,
		"backend: openai-chat\nendpoint: /v1/chat/completions\ndataset-name: random-mm\n" +
			"random-mm-bucket-config: '{(16, 32, 1): 1}'\n": 0,
		"backend: openai-chat\nendpoint: /v1/chat/completions\n": 0,
	} {
		p, err := dialect.Parse("vllm-benchmark", "w.yaml", []byte(text+"model: \"\"\nnum-prompts: 12\nmax-concurrency: 2\n"+
			"random-input-len: 40\nrandom-output-len: 3\n"), dialect.Options{})
		require.NoError(t, err, text)
		r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{url}, Folder: t.TempDir()})
		require.NoError(t, err, text)
		total := &r.Measured.Total
		require.Zero(t, total.Requests.Failed, "%s: %v", text, r.Reasons)
		require.EqualValues(t, p.Load.Stages[0].Requests, total.Requests.OK)
		if input > 0 {
			require.EqualValues(t, input*total.Requests.OK, total.Tokens.Input, text)
		}
	}
}

// TestFlagsOfAIPerf: ramps, warm-up, rankings, images, sessions and cancelled requests of aiperf reach the server.
func TestFlagsOfAIPerf(t *testing.T) {
	url := simulate(t)
	for text, left := range map[string]bool{
		"endpoint-type: rankings\nrankings-passages-mean: 3\nrankings-passages-prompt-token-mean: 9\n":  false,
		"concurrency: 2\nconcurrency-ramp-duration: 0.1\nimage-width-mean: 8\nimage-height-mean: 8\n":   false,
		"user-centric-rate: 100\nnum-users: 3\nsession-turns-mean: 2\nshared-system-prompt-length: 5\n": false,
		"request-rate: 100\nrequest-rate-ramp-duration: 0.1\nwarmup-duration: 0.1\n":                    false,
		"concurrency: 2\nstreaming: none\nosl: 5000\nextra-inputs: ignore_eos:true\nrequest-cancellation-rate: 100\n" +
			"request-cancellation-delay: 0.01\n": true,
	} {
		if !left {
			text += "isl: 20\nosl: 3\n"
		}
		p, err := dialect.Parse("aiperf", "w.yaml", []byte("model: \"\"\nrequest-count: 12\n"+text), dialect.Options{})
		require.NoError(t, err, text)
		r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{url}, Folder: t.TempDir()})
		require.NoError(t, err, text)
		total := &r.Measured.Total.Requests
		require.Zero(t, total.Failed, "%s: %v", text, r.Reasons)
		require.EqualValues(t, 12, total.Total, text)
		require.Equal(t, left, total.Leavers == 12, text)
	}
}

// TestPriorityMix: each request carries the priority of its class, by the shares, and each class has its figures.
func TestPriorityMix(t *testing.T) {
	files := catalog.All()
	at := slices.IndexFunc(files, func(f catalog.File) bool { return f.Name == "priority_mix" })
	p, err := files[at].Read(dialect.Options{})
	require.NoError(t, err)
	p.Load.Stages = []profile.Stage{{Arrival: profile.Closed, Concurrency: 4, Requests: 400}}
	p.Data.Input, p.Data.Output = profile.FixedAt(5), profile.FixedAt(2)
	forward := simtest.Forward(t, simulate(t))
	var mu sync.Mutex
	sent := map[int64]int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var members struct{ Priority *int64 }
		if err == nil && json.Unmarshal(body, &members) == nil && members.Priority != nil {
			mu.Lock()
			sent[*members.Priority]++
			mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{server.URL}, Folder: t.TempDir()})
	require.NoError(t, err)
	require.Len(t, r.Measured.Groups, 3)
	for i, class := range p.API.Classes {
		g := &r.Measured.Groups[i]
		require.Equal(t, i+1, g.Number)
		require.EqualValues(t, sent[int64(class.Priority)], g.Requests.OK, class.Name)
		require.InDelta(t, class.Share, float64(g.Requests.OK)/400, .08, class.Name)
		require.EqualValues(t, g.Requests.OK, g.Latency["ttft"].Count)
	}
}

// TestReasoningServer: TTFT is the time to the first token of reasoning, and TTFO the one to the first token after it.
func TestReasoningServer(t *testing.T) {
	const ttft, tpot, reasoning = 5 * time.Millisecond, 4 * time.Millisecond, 6
	url, _ := runtest.Simulate(t, ttft, tpot, func(c *sim.Config) { c.ReasoningTokens = reasoning })
	p := profile.Defaults()
	p.API.Kind, p.API.IgnoreEOS = "chat", true
	p.Data = profile.Data{Kind: profile.Synthetic, Input: profile.FixedAt(9), Output: profile.FixedAt(10)}
	p.Load.Stages = []profile.Stage{{Arrival: profile.Closed, Concurrency: 1, Requests: 20}}
	r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{url}, Folder: t.TempDir()})
	require.NoError(t, err)
	total := &r.Measured.Total
	require.EqualValues(t, 20, total.Requests.OK, "%v", r.Reasons)
	require.EqualValues(t, 200, total.Tokens.Output, "reasoning is output")
	first, visible := total.Latency["ttft"], total.Latency["ttfo"]
	require.InDelta(t, (reasoning * tpot).Seconds(), visible.Percentile["p50"]-first.Percentile["p50"], tpot.Seconds()/2)
}

// TestMessagesAndResponses sends conversations through the APIs whose streams have typed events. Later turns contain
// the simulator's answers.
func TestMessagesAndResponses(t *testing.T) {
	url := simulate(t)
	for _, api := range []string{"messages", "responses"} {
		for _, stream := range []bool{true, false} {
			p := profile.Defaults()
			p.API.Kind, p.API.Stream = api, stream
			p.Data = profile.Data{Kind: profile.Conversations, Input: profile.FixedAt(9), Output: profile.FixedAt(5),
				Turns: &profile.Turns{Conversations: 2, Count: profile.FixedAt(3), SharedSystem: 4}}
			p.Load.Stages = []profile.Stage{{Arrival: profile.Closed, Concurrency: 2, Requests: 12}}
			r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{url}, Folder: t.TempDir()})
			require.NoError(t, err)
			total := &r.Measured.Total
			require.Zero(t, total.Requests.Failed, "%s: %v", api, r.Reasons)
			require.EqualValues(t, 12, total.Requests.OK)
			require.Positive(t, total.Throughput.InputTokens)
			require.Positive(t, total.Throughput.OutputTokens)
			require.Equal(t, api, r.API)
		}
	}
}
