package backends_test

import (
	"bytes"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wirecase"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	_ "github.com/mlperf-go/mlperf-go/backends/llamacpp"
	_ "github.com/mlperf-go/mlperf-go/backends/ollama"
	_ "github.com/mlperf-go/mlperf-go/backends/sglang"
)

// readings maps each route of a recorded case to the test that reads its reply. TestGoldenEveryCase fails for a case
// with another route.
var readings = map[string]func(*testing.T, *wirecase.Case){
	"POST /v1/completions":        answered,
	"POST /v1/chat/completions":   answered,
	"POST /inference/v1/generate": answered,
	"POST /generate":              answered,
	"POST /completion":            answered,
	"POST /api/generate":          answered,
	"POST /v1/nope":               refused,
	"GET /v1/completions":         refused,
	"GET /health":                 health,
	"GET /health/ready":           health,
	"GET /ping":                   health,
	"GET /version":                version,
	"GET /v1/models":              served,
	"GET /model_info":             modelInfo,
	"GET /metrics":                inFlight,
	"GET /load":                   inFlight,
	"POST /tokenize":              tokenized,
	"POST /detokenize":            detokenized,
	"POST /flush_cache":           emptied,
	"POST /reset_prefix_cache":    emptied,
}

// TestGoldenEveryCase reads all recorded and composed replies of servers with the program's own code.
func TestGoldenEveryCase(t *testing.T) {
	all := wirecase.All(t)
	for i := range all {
		c := &all[i]
		t.Run(c.Name, func(t *testing.T) {
			route := c.Method + " " + c.Path
			read := readings[route]
			require.NotNil(t, read, "nothing reads the reply to %s: give it a row in readings", route)
			read(t, c)
		})
	}
	t.Logf("%d cases", len(all))
}

// servers are the drivers for the servers of the cases; the others use vLLM's protocol.
var servers = []struct{ part, driver string }{{"sglang-", "sglang"}, {"trtllm-", "trtllm"}, {"llamacpp-", "llamacpp"},
	{"ollama-", "ollama"}}

// driverOf returns the driver for the server of a case, and the API with the case's route.
func driverOf(t *testing.T, c *wirecase.Case) (d backends.Driver, name, api string) {
	name = "vllm"
	for _, s := range servers {
		if strings.Contains(c.Name, s.part) {
			name = s.driver
		}
	}
	api = map[string]string{"/v1/completions": "completions", "/v1/chat/completions": "chat"}[c.Path]
	if api == "" {
		api = "generate"
	}
	if name == "ollama" && api == "chat" { // its own driver uses its native chat
		name = "openai"
	}
	d, err := backends.Lookup(name)
	require.NoError(t, err)
	return d, name, api
}

func protocol(t require.TestingT, d backends.Driver, c *backends.Config) wire.Protocol {
	p, err := d.(client.Wire).Protocol(c)
	require.NoError(t, err)
	return p
}

// config returns a configuration that sends the case's request.
func config(c *wirecase.Case, name, api string) *backends.Config {
	k := wiretest.Config()
	k.API, k.KeepText, k.NeedIDs = api, name != "vllm" || api != "generate", false
	// Ollama streams unless the request turns it off.
	k.Stream = c.Streams() || c.Path == "/api/generate" && !bytes.Contains(c.Request, []byte(`"stream"`))
	k.IDsInLogprobs = c.NamesIDs()
	k.Sampling.MaxTokens = c.MaxTokens()
	return k
}

// both sends one query with both clients, which must have the same outcome.
func both(t *testing.T, d backends.Driver, k *backends.Config, response []byte) (*backends.Outcome, backends.Attempt) {
	t.Helper()
	var first *wiretest.Result
	var attempt backends.Attempt
	for _, name := range []string{http1.Name, nethttp.Name} {
		k.Endpoints = []backends.Endpoint{{URL: wiretest.Raw(t, pieces(response))}}
		contract := wiretest.Contract{Open: func(k *backends.Config) (backends.Backend, error) {
			return client.OpenOn(name, k, d.(client.Wire))
		}}
		r := contract.Ask(t, k, 1)
		got := r.Results[1]
		if len(r.Attempts) > 0 {
			attempt = r.Attempts[0]
		}
		if first == nil {
			first = got
		}
		require.Equal(t, known(&first.Outcome), known(&got.Outcome), name)
	}
	return &first.Outcome, attempt
}

// known returns the parts of an outcome that the server decides.
func known(o *backends.Outcome) []any {
	return []any{o.Reason, append([]int32{}, o.Tokens...), string(o.Text), o.NTokens, o.TokenSource, o.UsageTokens,
		o.InputTokens, o.FinishReason}
}

// pieces answers with the same bytes in writes of random length.
func pieces(response []byte) wiretest.Script {
	return func(c net.Conn, _, _ int) bool {
		for rest := response; len(rest) > 0; {
			n := 1 + rand.IntN(len(rest))
			if _, err := c.Write(rest[:n]); err != nil {
				return false
			}
			rest = rest[n:]
		}
		c.(*net.TCPConn).CloseWrite()
		c.Read(make([]byte, 1))
		return false
	}
}
