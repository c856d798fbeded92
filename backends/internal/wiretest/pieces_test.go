package wiretest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
)

// TestRaw answers each request of a connection with the script's bytes, whatever its body.
func TestRaw(t *testing.T) {
	url := Raw(t, Answers(Whole(200, "text/plain", "hello")))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, body := range []string{"", strings.Repeat("x", 100_000)} {
		r, err := client.Post(url, "text/plain", strings.NewReader(body))
		require.NoError(t, err)
		got, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, "hello", string(got))
	}
}

func TestPieces(t *testing.T) {
	require.Equal(t, "3\r\nabc\r\n10\r\n"+strings.Repeat("d", 16)+"\r\n0\r\n\r\n", Chunked("abc", strings.Repeat("d", 16)))
	for request, want := range map[string]bool{
		"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab": false, "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc": true,
		"POST / HTTP/1.1\r\nCont": false,
	} {
		require.Equal(t, want, complete([]byte(request)), request)
	}
}

// failing is a test that only records its failure.
type failing struct{ failed bool }

func (f *failing) Errorf(string, ...any) { f.failed = true }
func (f *failing) FailNow()              { panic(f) }

// TestRecorderDetectsFaults: a query that is completed twice or never, or has its first token after its end.
func TestRecorderDetectsFaults(t *testing.T) {
	q, out := loadgen.Query{ID: 1}, &backends.Outcome{}
	for name, c := range map[string]struct {
		do   func(*Recorder)
		good bool
	}{
		"once":  {func(r *Recorder) { r.FirstToken(q, nil, 1); r.Complete(q, out) }, true},
		"twice": {func(r *Recorder) { r.Complete(q, out); r.Complete(q, out) }, false},
		"never": {func(r *Recorder) { r.FirstToken(q, nil, 1) }, false},
		"two first tokens": {func(r *Recorder) { r.FirstToken(q, nil, 1); r.FirstToken(q, nil, 2); r.Complete(q, out) },
			false},
		"late":          {func(r *Recorder) { r.Complete(q, out); r.FirstToken(q, nil, 1) }, false},
		"a gap of less": {func(r *Recorder) { r.Tokens(q, 1, 0, -1); r.Complete(q, out) }, false},
	} {
		r, f := NewRecorder(), &failing{}
		c.do(r)
		func() {
			defer func() { _ = recover() }()
			r.ExactlyOnce(f, 1)
		}()
		require.Equal(t, c.good, !f.failed, name)
	}
}

func TestQueriesEnd(t *testing.T) {
	s := NewQueries(3).End()
	dst := make([]loadgen.Query, 2)
	n, open := s.Wait(dst, 0)
	require.Equal(t, []any{2, true}, []any{n, open})
	n, open = s.Wait(dst, 0)
	require.Equal(t, []any{1, true, loadgen.ResponseID(3)}, []any{n, open, dst[0].ID})
	n, open = s.Wait(dst, 0)
	require.Equal(t, []any{0, false}, []any{n, open})
}

// TestContractDetectsALostQuery: the contract's tests fail for a client that forgets a query.
func TestContractDetectsALostQuery(t *testing.T) {
	k := Contract{Open: func(*backends.Config) (backends.Backend, error) { return forgetful{}, nil }}
	f := &failing{}
	func() {
		defer func() { _ = recover() }()
		k.Ask(f, Config("http://127.0.0.1:1"), 2)
	}()
	require.True(t, f.failed)
}

// forgetful is a backend that completes every query except the last.
type forgetful struct{}

func (forgetful) Features() backends.Features { return backends.Features{} }

func (forgetful) Serve(_ context.Context, src loadgen.Source, sink backends.Sink) error {
	var dst [8]loadgen.Query
	for {
		n, open := src.Wait(dst[:], 0)
		for _, q := range dst[:max(0, n-1)] {
			sink.Complete(q, &backends.Outcome{})
		}
		if n == 0 && !open {
			return nil
		}
	}
}
