package mlflow

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/run/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const goodRecord = `{"schema":"mlperf-go/run/1","verdict":"INVALID",
"reasons":[{"code":"sample_failed"},{"code":"client_lag"}],
"rehearsal":true,"started":"2026-01-02T03:04:05Z","duration_s":2.5,"throughput":{"requests_per_s":7},
"latency_s":{"ttft":{"p99":0.25},"tpot":null},"tails":[{"what":"time to first token","limit_ns":2000}],
"loadgen":{"valid":false,
"result":{"result_token_throughput":3,"result_min_queries_met":true,"effective_target_qps":1}}}`

// runFolder writes the folder of a test.
func runFolder(t testing.TB, rec, config string) string {
	folder := filepath.Join(t.TempDir(), "one")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, record.LogFolder), 0o700))
	for name, text := range map[string]string{record.FileName: rec, record.ConfigName: config, ".reserve": "spare",
		record.LogFolder + "/mlperf_log_summary.txt": "fine", "50% #1.txt": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	return folder
}

func TestReadTest(t *testing.T) {
	r, err := Read(runFolder(t, goodRecord, "model: llama3.1-8b\ntarget-qps: 2\nendpoint: [http://a, http://b]\nnone:\n"))
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"throughput/requests_per_s": 7, "latency_s/ttft/p99": .25, "duration_s": 2.5,
		"tails/time to first token/limit_ns": 2000, "loadgen/token_throughput": 3, "loadgen/min_queries_met": 1,
		"loadgen/valid": 0, "valid": 0}, r.Metrics)
	require.Equal(t, map[string]string{"model": "llama3.1-8b", "target-qps": "2", "endpoint": `["http://a","http://b"]`},
		r.Params)
	require.Equal(t, "INVALID", r.Tags["verdict"])
	require.Equal(t, "sample_failed client_lag", r.Tags["reasons"])
	require.Equal(t, "true", r.Tags["rehearsal"])
	require.Equal(t, 2500*time.Millisecond, r.End.Sub(r.Start))
}

func TestReadOtherFolders(t *testing.T) {
	empty := t.TempDir()
	_, err := Read(empty)
	require.ErrorContains(t, err, "has no run.json: give the folder of a finished run")
	require.NoError(t, os.WriteFile(filepath.Join(empty, "tune.json"), []byte("{}"), 0o600))
	_, err = Read(empty)
	require.ErrorContains(t, err, "is the folder of a tune: MLflow accepts the folders of runs, workloads and campaigns")
	_, err = Read(runFolder(t, `{"schema":"mlperf-go/run/7"}`, ""))
	require.ErrorContains(t, err, `has the schema "mlperf-go/run/7"`)
	_, err = Read(runFolder(t, goodRecord, "a: ["))
	require.ErrorContains(t, err, "config.yaml")
}

func TestNamesAndValues(t *testing.T) {
	for given, want := range map[string]string{"latency_s/ttft/p99.9": "latency_s/ttft/p99.9", "a<b>:é": "a_b___",
		strings.Repeat("x", 300): strings.Repeat("x", longestKey)} {
		require.Equal(t, want, name(given))
	}
	require.Equal(t, "äb…", cut("äbcd", 3))
	require.Equal(t, "äbc", cut("äbc", 3))
}

func TestArtifactPath(t *testing.T) {
	for uri, want := range map[string]string{"mlflow-artifacts:/1/ab/artifacts": "1/ab/artifacts",
		"s3://bucket/1": "", "file:///srv/1": "", "mlflow-artifacts://evil:80/1/ab": "", "mlflow-artifacts:/../x": "", "": "",
		"mlflow-artifacts:/": ""} {
		path, err := artifactPath(uri)
		require.Equal(t, want, path, uri)
		require.Equal(t, want == "", err != nil, uri)
	}
}

// tracker answers like a tracking server, and records what it receives. answers[route] replaces a route's answer.
type tracker struct {
	sync.Mutex
	told    map[string][]string // bodies by route
	headers []http.Header
	answers map[string]http.HandlerFunc
}

func (k *tracker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	route := strings.TrimPrefix(r.URL.Path, api)
	if strings.HasPrefix(r.URL.Path, artifactsAPI) {
		route = "artifact " + strings.TrimPrefix(r.URL.Path, artifactsAPI)
	}
	k.Lock()
	k.told[route] = append(k.told[route], string(body))
	k.headers = append(k.headers, r.Header)
	answer := k.answers[route]
	k.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
	case route == "experiments/get-by-name":
		fmt.Fprint(w, `{"experiment":{"experiment_id":"4","lifecycle_stage":"active"}}`)
	case route == "runs/create":
		fmt.Fprint(w, `{"run":{"info":{"run_id":"r","artifact_uri":"mlflow-artifacts:/4/r/artifacts"}}}`)
	default:
		fmt.Fprint(w, `{}`)
	}
}

func start(t *testing.T, login Credentials, answers map[string]http.HandlerFunc) (*tracker, *Server) {
	k := &tracker{told: map[string][]string{}, answers: answers}
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	s, err := NewServer(server.URL+"/", login, httpclient.New(httpclient.Options{}))
	require.NoError(t, err)
	t.Cleanup(s.client.CloseIdleConnections)
	return k, s
}

func text(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// Every file is sent with its content, except the program's own and the targets of links.
func TestUpload(t *testing.T) {
	k, s := start(t, Credentials{User: "u", Password: "p"}, nil)
	folder := runFolder(t, goodRecord, "model: m\n")
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "link")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(folder, "linked")))
	r, err := Read(folder)
	require.NoError(t, err)
	for i := range 2500 {
		r.Metrics[fmt.Sprintf("many/%d", i)] = 1
	}
	for i := range 150 {
		r.Params[fmt.Sprintf("many/%d", i)] = "1"
	}
	r.Params["long"] = strings.Repeat("x", 501)
	sent, err := s.Upload(t.Context(), "x", r)
	require.NoError(t, err)
	require.Equal(t, "r", sent.ID)
	require.Equal(t, 4, sent.Files)
	var files []string
	for route, bodies := range k.told {
		if name, ok := strings.CutPrefix(route, "artifact 4/r/artifacts/"); ok {
			files = append(files, name)
			there, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
			require.NoError(t, err)
			require.Equal(t, []string{string(there)}, bodies)
		}
	}
	slices.Sort(files)
	require.Equal(t, []string{"50% #1.txt", record.ConfigName, record.LogFolder + "/mlperf_log_summary.txt",
		record.FileName}, files)
	require.Len(t, k.told["runs/log-batch"], 2+3, "two batches of 100 parameters, three of 1,000 metrics at most")
	require.Contains(t, strings.Join(k.told["runs/log-batch"], ""), `"`+strings.Repeat("x", 499)+`…"`)
	for _, h := range k.headers {
		require.Equal(t, "Basic dTpw", h.Get("Authorization"))
	}
	var end struct {
		Status string `json:"status"`
		End    int64  `json:"end_time"`
	}
	require.NoError(t, json.Unmarshal([]byte(k.told["runs/update"][0]), &end))
	require.Equal(t, "FINISHED", end.Status)
	require.Equal(t, r.End.UnixMilli(), end.End)
}

// A run that the server accepted only in part is marked.
func TestPartialUploadIsMarked(t *testing.T) {
	for route, answer := range map[string]http.HandlerFunc{
		"runs/log-batch": text(500, `{"error_code":"INTERNAL_ERROR","message":"no \u001b[31mspace"}`),
		"artifact 4/r/artifacts/" + record.FileName: text(413, "too large"),
	} {
		k, s := start(t, Credentials{}, map[string]http.HandlerFunc{route: answer})
		r, err := Read(runFolder(t, goodRecord, "model: m\n"))
		require.NoError(t, err)
		_, err = s.Upload(t.Context(), "x", r)
		require.ErrorContains(t, err, "the tracking server answered")
		require.NotContains(t, err.Error(), "\x1b")
		require.Len(t, k.told["runs/update"], 1)
		require.Contains(t, k.told["runs/update"][0], `"FAILED"`)
	}
}

// An upload that the user ends is marked too.
func TestInterruptedUploadIsMarked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	silent := func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}
	k, s := start(t, Credentials{}, map[string]http.HandlerFunc{"runs/log-batch": silent})
	r, err := Read(runFolder(t, goodRecord, "model: m\n"))
	require.NoError(t, err)
	_, err = s.Upload(ctx, "x", r)
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, k.told["runs/update"][0], `"FAILED"`)
}

// TestAnswersOfOtherServers: wrong answers, and those of servers that are not tracking servers, are reported as errors.
func TestAnswersOfOtherServers(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) {
		for line := make([]byte, 1<<20); ; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}
	away := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	}
	for want, answers := range map[string]map[string]http.HandlerFunc{
		"is not a tracking server of MLflow: it answered": {"experiments/get-by-name": text(200, "<html>")},
		"its experiment has no id":                        {"experiments/get-by-name": text(200, "{}")},
		"it made a run without an id":                     {"runs/create": text(200, "{}")},
		"was deleted on the server": {"experiments/get-by-name": text(200,
			`{"experiment":{"experiment_id":"4","lifecycle_stage":"deleted"}}`)},
		"it made an experiment without an id": {"experiments/get-by-name": text(404,
			`{"error_code":"RESOURCE_DOES_NOT_EXIST"}`)},
		"it has more than 16777216 bytes": {"experiments/get-by-name": endless},
		"answered 302 Found":              {"runs/create": away},
		"answered 401 Unauthorized":       {"runs/search": text(401, "")},
		"use --no-artifacts": {"runs/create": text(200,
			`{"run":{"info":{"run_id":"r","artifact_uri":"s3://b/1"}}}`)},
	} {
		_, s := start(t, Credentials{Token: "t"}, answers)
		r, err := Read(runFolder(t, goodRecord, "model: m\n"))
		require.NoError(t, err)
		_, err = s.Upload(t.Context(), "x", r)
		require.ErrorContains(t, err, want)
	}
}

func TestNewServer(t *testing.T) {
	for address, want := range map[string]string{"http://h:5": "http://h:5", "https://u:p@h/ml/?q#f": "https://h/ml"} {
		s, err := NewServer(address, Credentials{}, nil)
		require.NoError(t, err)
		require.Equal(t, want, s.URL())
		require.Equal(t, strings.Contains(address, "@"), s.login == Credentials{User: "u", Password: "p"})
	}
	for _, address := range []string{"h:5", "file:///x", "http://", "sqlite:///x", "http://[", "databricks"} {
		_, err := NewServer(address, Credentials{}, nil)
		require.Error(t, err, address)
	}
}

// FuzzRead reads folders of tests with foreign texts. What it returns can be sent.
func FuzzRead(f *testing.F) {
	f.Add([]byte(goodRecord), []byte("model: m\n"))
	f.Add([]byte(`{"schema":"mlperf-go/run/1","throughput":[[[1]]],"tails":{"what":1},"duration_s":1e300}`),
		[]byte("1: 2\n"))
	f.Add([]byte(`{"schema":"mlperf-go/run/1"}`), []byte("a: &a [1]\nb: {? [x] : *a}\n"))
	f.Fuzz(func(t *testing.T, rec, config []byte) {
		r, err := Read(runFolder(t, string(rec), string(config)))
		if err != nil {
			require.Nil(t, r)
			return
		}
		_, err = json.Marshal([]any{metrics(r), pairs(r.Params, longestValue), pairs(r.Tags, longestValue)})
		require.NoError(t, err)
		for key := range maps.Keys(r.Metrics) {
			require.LessOrEqual(t, len(name(key)), longestKey)
		}
	})
}
