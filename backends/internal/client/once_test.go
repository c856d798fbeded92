package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/backends/openai"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replica answers each prompt with its first id, and counts the requests.
type replica struct {
	mu        sync.Mutex
	now, most int
	asked     map[int]int // requests by sample
}

func (s *replica) begin(prompts [][]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
	s.most = max(s.most, s.now)
	for _, p := range prompts {
		s.asked[p[0]]++
	}
}

func (s *replica) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
}

func (s *replica) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.most, s.asked = 0, 0, map[int]int{}
}

func (s *replica) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var raw struct {
		Prompt json.RawMessage
		Stream bool
	}
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var prompts [][]int
	if json.Unmarshal(raw.Prompt, &prompts) != nil {
		prompts = [][]int{{}}
		if err := json.Unmarshal(raw.Prompt, &prompts[0]); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	s.begin(prompts)
	runtime.Gosched()
	s.end() // before the bytes that let the client continue
	if raw.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		id := fmt.Sprint(prompts[0][0])
		io.WriteString(w, wiretest.Event(id, "null")+wiretest.Event("7", `"stop"`)+wiretest.Usage(2)+wiretest.Done)
		return
	}
	choices, tokens := make([]string, len(prompts)), 0
	for i, p := range prompts {
		tokens += len(p)
		choices[len(prompts)-1-i] = fmt.Sprintf(`{"index":%d,"text":"w","finish_reason":"stop","token_ids":[%d,7]}`, i, p[0])
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"choices":[%s],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, strings.Join(choices, ","),
		tokens, 2*len(prompts))
}

// fleet is three replicas that all cases use.
func fleet(t *testing.T) (urls []string, all []*replica) {
	for range 3 {
		s := &replica{}
		h := httptest.NewServer(s)
		t.Cleanup(h.Close)
		urls, all = append(urls, h.URL), append(all, s)
	}
	return urls, all
}

// issue is a scenario's way to issue n queries.
var issue = map[string]func(n int, sink *wiretest.Recorder) (loadgen.Source, backends.Sink){
	"Offline": func(n int, sink *wiretest.Recorder) (loadgen.Source, backends.Sink) {
		return wiretest.NewQueries(n).End(), sink
	},
	"Server": func(n int, sink *wiretest.Recorder) (loadgen.Source, backends.Sink) {
		q := wiretest.NewQueries(0)
		go func() {
			for sent := 0; sent < n; {
				k := min(1+sent%3, n-sent) // some of them due together
				q.Issue(k)
				sent += k
				runtime.Gosched()
			}
			q.End()
		}()
		return q, sink
	},
	"SingleStream": func(n int, sink *wiretest.Recorder) (loadgen.Source, backends.Sink) {
		q := wiretest.NewQueries(min(n, 1))
		if n <= 1 {
			q.End()
		}
		return q, &oneByOne{Recorder: sink, queries: q, left: n - 1}
	},
}

// oneByOne issues the next query when the previous one is complete.
type oneByOne struct {
	*wiretest.Recorder
	queries *wiretest.Queries
	left    int
}

func (s *oneByOne) Complete(q loadgen.Query, o *backends.Outcome) {
	s.Recorder.Complete(q, o)
	if s.left > 0 {
		s.left--
		s.queries.Issue(1)
	}
	if s.left == 0 {
		s.queries.End()
	}
}

// shape is a strategy in the configuration.
type shape struct{ concurrency, perEndpoint, batch int }

// Every sample is sent once and completed once, with its own answer, for any number of samples and endpoints, and any
// strategy, scenario and client.
func TestEverySampleOnce(t *testing.T) {
	urls, replicas := fleet(t)
	found, err := backends.Lookup("vllm")
	require.NoError(t, err)
	driver := found.(*openai.Driver)
	const batched = 4
	rapid.Check(t, func(t *rapid.T) {
		endpoints := rapid.IntRange(1, 3).Draw(t, "endpoints")
		name := rapid.SampledFrom([]string{http1.Name, nethttp.Name}).Draw(t, "client")
		scenario := rapid.SampledFrom([]string{"Offline", "Server", "SingleStream"}).Draw(t, "scenario")
		strategy := "window"
		if scenario == "Offline" {
			strategy = rapid.SampledFrom([]string{"window", "all", "batch", "serial"}).Draw(t, "strategy")
		}
		n := rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 7, 13, 31, batched*endpoints - 1, batched*endpoints + 1}).Draw(t,
			"samples")
		how := map[string]shape{
			"window": {concurrency: rapid.SampledFrom([]int{0, 1, 2, 50}).Draw(t, "window")},
			"all":    {}, "serial": {concurrency: endpoints, perEndpoint: 1}, "batch": {concurrency: endpoints, batch: batched},
		}[strategy]
		c := wiretest.Config(urls[:endpoints]...)
		c.Balance = rapid.SampledFrom(balance.Names()).Draw(t, "balance")
		c.Concurrency, c.PerEndpoint, c.Batch, c.Stream = how.concurrency, how.perEndpoint, how.batch, scenario != "Offline"
		c.Sampling = models.Sampling{MaxTokens: 8}
		c.Body = func(i int) []byte {
			body, err := driver.Encode(nil, &datasets.Sample{InputIDs: []int32{int32(i), 3}}, c)
			require.NoError(t, err)
			return body
		}
		for _, s := range replicas {
			s.reset()
		}
		b, err := client.OpenOn(name, c, driver, "prompt")
		require.NoError(t, err)
		r := wiretest.NewRecorder()
		source, sink := issue[scenario](n, r)
		require.NoError(t, b.Serve(context.Background(), source, sink))
		r.ExactlyOnce(t, n)
		for id, res := range r.Results {
			require.Equal(t, backends.OK, res.Reason)
			require.Equal(t, []int32{int32(id) - 1, 7}, res.Tokens)
		}
		asked := map[int]int{}
		for _, s := range replicas {
			s.mu.Lock()
			for sample, times := range s.asked {
				asked[sample] += times
			}
			if how.perEndpoint > 0 {
				require.LessOrEqual(t, s.most, how.perEndpoint)
			}
			s.mu.Unlock()
		}
		require.Len(t, asked, n)
		for sample, times := range asked {
			require.Equal(t, 1, times, "sample %d", sample)
		}
	})
}
