//go:build cgo && !noloadgen

package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// faulty is a server of the model m that can fail.
type faulty struct {
	url     string
	refuses atomic.Bool            // whether it refuses each query
	other   atomic.Bool            // whether it claims to serve other weights
	asked   atomic.Pointer[func()] // called before each query; nil: nothing
}

func newFaulty(t *testing.T) *faulty {
	f := &faulty{}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch root := "/weights/a"; {
	case r.URL.Path == "/v1/models":
		if f.other.Load() {
			root = "/weights/b"
		}
		fmt.Fprintf(w, `{"object":"list","data":[{"id":"m","object":"model","owned_by":"x","root":%q}]}`, root)
	case r.Method != http.MethodPost || r.URL.Path != "/v1/completions":
		http.NotFound(w, r)
	case f.refuses.Load():
		http.Error(w, "no", http.StatusInternalServerError)
	default:
		if asked := f.asked.Load(); asked != nil {
			(*asked)()
		}
		w.Header().Set("Content-Type", "text/event-stream")
		var body struct{ Prompt []int }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for token := range 8 {
			finish := "null"
			if token == 7 {
				finish = `"length"`
			}
			fmt.Fprintf(w, "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":%s}]}\n\n", finish)
			w.(http.Flusher).Flush()
		}
		fmt.Fprintf(w, `data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":8}}`+"\n\ndata: [DONE]\n\n",
			len(body.Prompt))
	}
}

// fails is a step of TestRun: what a sweep does when its server, the machine or its user stops it.
func fails(t *testing.T, _, _ string) {
	server, e := newFaulty(t), &events{}
	o := options(t, server.url, "m", filepath.Join(t.TempDir(), "faults"), e, 1, 2)
	require.NoError(t, o.study().Run(t.Context(), func() error { return nil }, func(client *run.ProbeClient) error {
		s := &sweeper{Options: o, client: client}
		require.NoError(t, s.begin(nil))
		s.endsEarly(t, server)
		s.unwritten(t)
		s.refused(t, server, e)
		s.repeated(t, server, e)
		s.isStopped(t, server)
		return nil
	}))
}

// calmly measures until the client was not late, as it may be on a busy machine.
func calmly(t *testing.T, measure func() []record.Cause) {
	for range 100 {
		if !slices.ContainsFunc(measure(), func(c record.Cause) bool { return c.Code == record.CodeClientLag }) {
			return
		}
	}
	t.Fatal("the client was always late")
}

// endsEarly checks loads whose few queries are over in the warm-up, since an answer seemed to take an hour.
func (s *sweeper) endsEarly(t *testing.T, server *faulty) {
	var window Window
	brief := func() (causes []record.Cause) {
		calmly(t, func() []record.Cause {
			sent, counted, err := s.bench.measure(t.Context(), Concurrency, 1, Length{Duration: 5, Queries: 1, Longest: 5},
				time.Hour, 1)
			require.NoError(t, err)
			causes, window = sent.Causes, counted
			return causes
		})
		return causes
	}
	causes := brief()
	require.Zero(t, window)
	require.Len(t, causes, 1)
	require.Equal(t, "the load ended before its window did", causes[0].Text)
	server.refuses.Store(true)
	causes = brief()
	require.Equal(t, record.CodeFailedSamples, causes[0].Code)
	require.NotContains(t, fmt.Sprint(causes), "the load ended before", "the failures are the cause")
	server.refuses.Store(false)
}

// unwritten checks that a point whose folder cannot be made is an error.
func (s *sweeper) unwritten(t *testing.T) {
	other := *s
	other.Folder = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other.Folder, pointsFolder), nil, 0o600))
	_, err := other.point(t.Context(), 1)
	require.ErrorContains(t, err, "not a directory")
}

// refused checks that failures at a load are a result, and failures of the idle server an error.
func (s *sweeper) refused(t *testing.T, server *faulty, e *events) {
	server.refuses.Store(true)
	p, err := s.settled(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, record.CodeFailedSamples, p.Spoiled[0].Code)
	require.Contains(t, p.Spoiled[0].Text, "the first failure")
	require.Zero(t, e.repeats)
	err = s.idle(t.Context())
	require.Equal(t, exit.CodeIdle, exit.Classify(err).Code, err)
	require.Zero(t, s.state.IdleAnswerS)
	s.state.IdleAnswerS = 1e-3
	ctx, stop := context.WithCancelCause(t.Context())
	e.measured = func() { stop(errStopped) }
	err = s.run(ctx)
	require.ErrorIs(t, err, errStopped)
	require.NotContains(t, err.Error(), "the sweep was ended", "it stopped while it waited after a spoiled load")
	require.Len(t, s.state.Points, 1)
	e.measured = nil
	server.refuses.Store(false)
}

// repeated checks that a load is measured again if neither the server's failures nor the client spoiled it.
func (s *sweeper) repeated(t *testing.T, server *faulty, e *events) {
	server.other.Store(true)
	calmly(t, func() []record.Cause {
		before := e.repeats
		p, err := s.settled(t.Context(), 2)
		require.NoError(t, err)
		if !overloads(p.Spoiled) {
			require.Equal(t, record.CodeWrongModel, p.Spoiled[0].Code)
			require.Equal(t, mostRepeats, e.repeats-before)
		}
		return p.Spoiled
	})
	require.NoError(t, s.recover(t.Context()))
	calmly(t, func() []record.Cause {
		ctx, stop := context.WithCancelCause(t.Context())
		e.repeated = func() { stop(errStopped) }
		p, err := s.settled(ctx, 2)
		if p != nil {
			return p.Spoiled
		}
		require.ErrorIs(t, err, errStopped, "before it is measured again")
		return nil
	})
	e.repeated = nil
}

var errStopped = errors.New("stopped")

// isStopped checks that no step goes on after a signal, whether it comes before the step or while it sends.
func (s *sweeper) isStopped(t *testing.T, server *faulty) {
	for name, step := range map[string]func(context.Context) error{
		"recover": s.recover,
		"idle":    func(ctx context.Context) error { s.state.IdleAnswerS = 0; return s.idle(ctx) },
		"run":     func(ctx context.Context) error { s.state.IdleAnswerS = 0; return s.run(ctx) },
		"a load":  func(ctx context.Context) error { s.state.IdleAnswerS = 1e-3; return s.run(ctx) },
		"settled": func(ctx context.Context) error { _, err := s.settled(ctx, 2); return err },
		"point":   func(ctx context.Context) error { _, err := s.point(ctx, 2); return err },
		"measure": func(ctx context.Context) error {
			_, _, err := s.bench.measure(ctx, Concurrency, 2, s.Length, 0, 1)
			return err
		},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		asked := func() { stop(errStopped) }
		server.asked.Store(&asked)
		require.ErrorIs(t, step(ctx), errStopped, "%s, while it sends", name)
		require.ErrorIs(t, step(ctx), errStopped, "%s, before it sends", name)
	}
}
