package backends_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wirecase"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// facts serves one route as recorded and the others as given; all other routes answer 404. It omits the recorded length
// of a body, because some transcripts were shortened.
func facts(t *testing.T, c *wirecase.Case, others map[string]string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == c.Path && r.Method == c.Method {
			w.Header().Set("Content-Type", c.ContentType)
			w.WriteHeader(c.Status)
			w.Write(c.Body)
			return
		}
		page, ok := others[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, page)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

var models = map[string]string{"/v1/models": `{"object":"list","data":[{"id":"m","owned_by":"vllm"}]}`}

// probed probes a server that answers the case's route as recorded.
func probed(t *testing.T, c *wirecase.Case) (*backends.Probe, error) {
	d, _, _ := driverOf(t, c)
	return d.Probe(t.Context(), backends.Endpoint{URL: facts(t, c, models)}, &backends.Config{}, nil, false)
}

func health(t *testing.T, c *wirecase.Case) {
	p, err := probed(t, c)
	require.Equal(t, c.Status, p.HealthStatus)
	if c.Status >= 500 {
		var e *backends.EndpointError
		require.ErrorAs(t, err, &e)
		require.Equal(t, backends.FaultNotReady, e.Fault)
		return
	}
	require.NoError(t, err)
}

func version(t *testing.T, c *wirecase.Case) {
	p, err := probed(t, c)
	require.NoError(t, err)
	require.JSONEq(t, string(c.Body), `{"version":"`+p.Version+`"}`)
}

func served(t *testing.T, c *wirecase.Case) {
	p, err := probed(t, c)
	require.NoError(t, err)
	var list struct {
		Data []struct {
			ID     string
			MaxLen int `json:"max_model_len"`
			Meta   struct {
				Context int `json:"n_ctx"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(c.Body, &list))
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	require.Equal(t, ids, p.Models)
	require.Equal(t, max(list.Data[0].MaxLen, list.Data[0].Meta.Context), p.MaxModelLen)
	if c.Meant != nil && c.Meant.Models != nil {
		require.Equal(t, c.Meant.Models, p.Models)
		require.Equal(t, c.Meant.MaxLen, p.MaxModelLen)
	}
}

func modelInfo(t *testing.T, c *wirecase.Case) {
	p, err := probed(t, c)
	require.NoError(t, err)
	require.Equal(t, "sglang", p.Server)
	require.NotContains(t, strings.Join(p.Notes, "\n"), c.Path+" returned no")
	require.Contains(t, string(c.Body), `"`+c.Meant.ModelPath+`"`)
}

// inFlight compares the number of requests that a server reports with the number that another reader finds.
func inFlight(t *testing.T, c *wirecase.Case) {
	p, err := probed(t, c)
	require.NoError(t, err)
	require.NotNil(t, p.InFlight)
	want := 0.0
	if c.Path == "/load" {
		var load map[string]float64
		require.NoError(t, json.Unmarshal(c.Body, &load))
		want = load["server_load"]
	} else {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(append(bytes.Clone(c.Body), '\n')))
		require.NoError(t, err)
		for _, name := range []string{"vllm:num_requests_running", "vllm:num_requests_waiting",
			"llamacpp:requests_processing", "llamacpp:requests_deferred"} {
			for _, m := range families[name].GetMetric() {
				want += m.GetGauge().GetValue() + m.GetUntyped().GetValue()
			}
		}
	}
	require.EqualValues(t, want, *p.InFlight)
}

// tokenized reads the ids of a server's tokenizer, and rejects other values.
func tokenized(t *testing.T, c *wirecase.Case) {
	var body struct{ Tokens []int64 }
	require.NoError(t, json.Unmarshal(c.Body, &body))
	f, err := finder.Find(t.Context(), finder.Options{Server: &finder.Server{URL: facts(t, c, nil), Model: "m"}})
	if len(body.Tokens) == 0 {
		require.ErrorContains(t, err, "returned no token for a letter")
		return
	}
	for _, id := range body.Tokens {
		if id > math.MaxInt32 { // hashes of a server without a tokenizer
			require.ErrorContains(t, err, "does not answer with JSON of ids")
			return
		}
	}
	require.NoError(t, err)
	ids, err := f.Encode(t.Context(), "what was asked", true)
	require.NoError(t, err)
	require.Len(t, ids, len(body.Tokens))
	for i, id := range ids {
		require.EqualValues(t, body.Tokens[i], id)
	}
	if c.Meant != nil {
		require.Equal(t, c.Meant.Tokens, ids)
	}
}

func detokenized(t *testing.T, c *wirecase.Case) {
	var body map[string]string
	require.NoError(t, json.Unmarshal(c.Body, &body))
	f, err := finder.Find(t.Context(), finder.Options{Server: &finder.Server{URL: facts(t, c,
		map[string]string{"/tokenize": `{"tokens":[5]}`})}})
	require.NoError(t, err)
	text, err := f.Decode(t.Context(), []int32{300, 301, 302}, false)
	require.NoError(t, err)
	require.NotEmpty(t, text)
	require.Equal(t, body["prompt"]+body["content"]+body["text"], text)
}

// emptied asks a server to discard its cached prompts.
func emptied(t *testing.T, c *wirecase.Case) {
	d, _, _ := driverOf(t, c)
	offered, err := d.Describe().EmptyCache(t.Context(), backends.Endpoint{URL: facts(t, c, nil)}, &backends.Config{})
	require.NoError(t, err)
	require.True(t, offered)
	if c.Meant.Success != nil {
		require.True(t, *c.Meant.Success)
	}
	require.Contains(t, string(c.Body), c.Meant.Text)
}
