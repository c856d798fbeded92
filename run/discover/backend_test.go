package discover_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "github.com/mlperf-go/mlperf-go/backends/llamacpp"
	_ "github.com/mlperf-go/mlperf-go/backends/ollama"
	_ "github.com/mlperf-go/mlperf-go/backends/openai"
	_ "github.com/mlperf-go/mlperf-go/backends/sglang"
	"github.com/mlperf-go/mlperf-go/run/discover"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// knownSet is the SHA-256 of the data set of the test's simulator.
var knownSet = strings.Repeat("ab", 32)

// showing serves the pages by which each kind of server can be recognized.
func showing(t *testing.T, kind string) string {
	routes := map[string]map[string]string{
		"vllm": {"/v1/models": `{"data":[{"id":"m","owned_by":"vllm"}]}`, "/version": `{"version":"0.32.0"}`,
			"/load": `{"server_load":0}`},
		"sglang":    {"/model_info": `{"model_path":"m"}`},
		"version":   {"/version": `{"version":"1.0"}`},
		"trtllm":    {"/v1/models": `{"data":[{"id":"m","owned_by":"tensorrt_llm"}]}`, "/version": `{"version":"1.0"}`},
		"hidden":    {},
		"confused":  {"/model_info": `{"model_path":"m"}`, "/props": `{"default_generation_settings":{}}`},
		"simulator": {"/v1/models": "simulator", "/mlperf-go-sim": `{"references":"` + knownSet + `"}`},
	}[kind]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch text, ok := routes[r.URL.Path]; {
		case !ok:
			http.NotFound(w, r)
		case text == "simulator":
			w.Header().Set("Server", "mlperf-go-sim")
		default:
			_, _ = io.WriteString(w, text)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestBackend(t *testing.T) {
	for name, c := range map[string]struct {
		servers string // kinds of servers
		given   string // --backend
		want    string
		fault   string // code of the error
		text    string // of the reason, the notes or the error
	}{
		"one": {servers: "vllm", want: "vllm", text: `names the owner "vllm"`},
		"several of a kind": {servers: "sglang sglang", want: "sglang",
			text: "GET /model_info returns model_path"},
		"none shows anything": {servers: "hidden", want: "openai",
			text: "treated as OpenAI-compatible: its routes"},
		"two kinds possible":    {servers: "version", want: "openai", text: "so that it may be tensorrt-llm or vllm"},
		"one shown, one hidden": {servers: "vllm hidden", want: "openai", text: "treated as OpenAI-compatible"},
		"two kinds": {servers: "vllm sglang", fault: "backend_mixed",
			text: "is sglang. Give endpoints of one kind"},
		"two kinds and a hidden one": {servers: "hidden vllm sglang", fault: "backend_mixed",
			text: "is of an unknown kind"},
		"a contradiction": {servers: "confused", fault: "backend_unclear",
			text: "Name the kind with --backend: llamacpp or sglang"},
		"a contradiction and a name": {servers: "confused", given: "sglang", want: "sglang",
			text: "no single kind of server"},
		"the right one": {servers: "sglang", given: "sglang", want: "sglang", text: "set by flag backend"},
		"the wrong one": {servers: "vllm sglang", given: "vllm", fault: "wrong_backend",
			text: "is sglang, and --backend is vllm: GET /model_info returns model_path. Use --backend sglang, or leave " +
				"--backend out"},
		"one of two possible": {servers: "version", given: "trtllm", want: "trtllm"},
		"neither of two possible": {servers: "version", given: "ollama", fault: "wrong_backend",
			text: "Use --backend trtllm or vllm"},
		"another than the owner":       {servers: "trtllm", given: "vllm", fault: "wrong_backend", text: "is tensorrt-llm"},
		"openai fits any":              {servers: "sglang vllm", given: "openai", want: "openai"},
		"a name for what is hidden":    {servers: "hidden", given: "vllm", want: "vllm"},
		"sim is asked nothing":         {servers: "confused", given: "sim", want: "sim"},
		"an unknown name":              {servers: "vllm", given: "vlm", fault: "backend", text: "is not one of"},
		"the simulator makes a mark":   {servers: "simulator", want: "openai"},
		"the simulator and its a name": {servers: "vllm simulator", given: "vllm", want: "vllm"},
		"two simulators":               {servers: "simulator simulator", want: "openai"},
	} {
		t.Run(name, func(t *testing.T) {
			var urls []string
			for kind := range strings.FieldsSeq(c.servers) {
				urls = append(urls, showing(t, kind))
			}
			s := plan.Settings{"model": "generic", "served-model": "m", "endpoint": strings.Join(urls, ",")}
			if c.given != "" {
				s["backend"] = c.given
			}
			p, err := plan.New(s)
			require.NoError(t, err)
			choice, err := discover.Backend(t.Context(), p, nil)
			if c.fault != "" {
				require.Error(t, err)
				require.EqualValues(t, c.fault, exit.Classify(err).Code, err)
				require.Contains(t, err.Error(), c.text)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []any{c.want, c.given == "", c.want}, []any{choice.Backend, choice.Auto,
				p.Config.String("backend")})
			require.Contains(t, strings.Join(append(choice.Notes, choice.Why), "\n"), c.text)
			require.Equal(t, strings.Contains(c.servers, "simulator"), p.Simulated)
			knows := strings.Trim(strings.ReplaceAll(c.servers, "simulator", ""), " ") == "" // whether all servers know the set
			require.Equal(t, map[bool]string{true: knownSet}[knows], p.References)
			if c.given != "sim" {
				require.Len(t, choice.Servers, len(urls))
			}
		})
	}
}

// A server that does not answer is left to the preflight if the backend is given. A user who interrupts the questions
// gets no error about a server.
func TestNoAnswers(t *testing.T) {
	for given, refused := range map[string]bool{"auto": true, "vllm": false} {
		p, err := plan.New(plan.Settings{"model": "generic", "served-model": "m", "backend": given,
			"endpoint": "http://127.0.0.1:1"})
		require.NoError(t, err)
		choice, err := discover.Backend(t.Context(), p, nil)
		require.Equal(t, refused, err != nil, "%v", err)
		require.Equal(t, refused, choice == nil)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(exit.Interrupt{Signal: syscall.SIGINT})
	p, err := plan.New(plan.Settings{"model": "generic", "served-model": "m", "endpoint": showing(t, "vllm")})
	require.NoError(t, err)
	_, err = discover.Backend(ctx, p, nil)
	require.Equal(t, exit.StatusInterrupt, exit.Classify(err).Exit)
	p, err = plan.New(plan.Settings{"model": "generic", "served-model": "m"})
	require.NoError(t, err)
	choice, err := discover.Backend(t.Context(), p, nil)
	require.NoError(t, err, "without an endpoint nothing is asked")
	require.Empty(t, choice.Servers)
}
