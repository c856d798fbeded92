package run

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// listOf is a list of models with the served one, whose files are at root.
func listOf(name, root string) *string {
	text := fmt.Sprintf(`{"object":"list","data":[{"id":%q,"object":"model","root":%q,"max_model_len":8192}]}`, name, root)
	return &text
}

// Answers that name another model than the preflight's fail, even if they are good otherwise.
func TestFaultAnswersByAnotherModel(t *testing.T) {
	program(t)
	t.Parallel()
	var answered atomic.Int64
	server := serveFaults(t, func(x *call) {
		body := x.whole()
		if answered.Add(1) > 1 { // the first request is the preflight's
			body = strings.Replace(body, `"model":"m"`, `"model":"another"`, 1)
		}
		x.status("200 OK", "application/json", body)
	})
	r := askedRun(t, "offline", []string{server.url})
	r.holdsTogether(t, requestsOf(t, r))
	r.failedBy(t, "wrong_model")
	require.EqualValues(t, answered.Load()-1, r.Samples.Failed)
}

// A server has another model at the end of the test: every answer is good, and the run is INVALID.
func TestFaultAnotherModelAtTheEnd(t *testing.T) {
	program(t)
	t.Parallel()
	for name, after := range map[string]*string{"another name": listOf("n", "/models/n"),
		"another path": listOf("m", "/models/n")} {
		server := serveFaults(t, (*call).good)
		server.models.Store(listOf("m", "/models/m"))
		server.reply = func(x *call) {
			server.models.Store(after)
			x.good()
		}
		r := faultRun(t, "offline", []string{server.url})
		r.holdsTogether(t, requestsOf(t, r))
		require.Equal(t, record.Invalid, r.Verdict, name)
		require.Equal(t, ExitInvalid, r.Exit)
		require.Equal(t, record.CodeWrongModel, r.Reasons[0].Code, "%s: %v", name, r.Reasons)
		require.Contains(t, r.Reasons[0].Text, server.url)
		require.Zero(t, r.Samples.Failed)
	}
}

// A server is restarted with another model and back again. The retries are answered, and a question at the end would
// see no change.
func TestFaultAnotherModelAfterReconnect(t *testing.T) {
	program(t)
	t.Parallel()
	for _, kind := range []string{"offline", "proxied"} {
		var restarted, seen atomic.Bool
		server := serveFaults(t, (*call).good)
		server.models.Store(listOf("m", "/models/m"))
		server.reply = func(x *call) {
			if restarted.CompareAndSwap(false, true) {
				server.models.Store(listOf("m", "/models/n"))
				x.reset()
				return
			}
			x.good()
		}
		server.asked = func(path string) {
			if path == "/v1/models" && restarted.Load() && seen.CompareAndSwap(false, true) {
				server.models.Store(listOf("m", "/models/m"))
			}
		}
		var r *ran
		if kind == "proxied" {
			r = faultRun(t, "offline", []string{"http://192.0.2.1:1"}, "--proxy", server.url, "--retries", "3", "--concurrency",
				"1")
		} else {
			r = faultRun(t, kind, []string{server.url}, "--retries", "3", "--concurrency", "1")
		}
		r.holdsTogether(t, requestsOf(t, r))
		require.True(t, seen.Load())
		require.Zero(t, r.Samples.Failed, r.Samples.FailedByReason)
		require.Equal(t, record.Invalid, r.Verdict)
		require.Equal(t, record.CodeWrongModel, r.Reasons[0].Code, r.Reasons)
		require.Contains(t, r.Reasons[0].Text, `"/models/n", and was "/models/m"`)
	}
}

// A server that does not answer the question for its model at the end has answered all requests: this is only noted.
func TestFaultSilentAtTheEnd(t *testing.T) {
	program(t)
	t.Parallel()
	server := serveFaults(t, (*call).good)
	nothing := ""
	server.reply = func(x *call) {
		server.models.Store(&nothing)
		x.good()
	}
	r := faultRun(t, "offline", []string{server.url})
	r.holdsTogether(t, requestsOf(t, r))
	require.Equal(t, record.Valid, r.Verdict, r.Reasons)
	require.Contains(t, strings.Join(r.Notes, "\n"), "could not be asked for its model at the end of the test")
}

func TestOtherModel(t *testing.T) {
	before := map[string]string{"root": "/a", "digest": "1"}
	require.Empty(t, otherModel(before, map[string]string{"root": "/a", "digest": "1"}))
	require.Empty(t, otherModel(before, nil), "a server that does not tell")
	require.Empty(t, otherModel(nil, before))
	require.Contains(t, otherModel(before, map[string]string{"root": "/b"}),
		`the root of the served model is "/b", and was "/a"`)
}
