package wiretest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// Pages serves JSON pages by path, and 404 for others. It returns the server's URL.
func Pages(t *testing.T, pages map[string]string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
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

// Bodies are the bodies of the requests that a server received. Its methods may be called concurrently.
type Bodies struct {
	mu  sync.Mutex
	all []string
}

// Add appends a body.
func (b *Bodies) Add(body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, body)
}

// All returns the bodies until now.
func (b *Bodies) All() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all)
}

// SameInSteps requires that an answer is read alike as a whole and in pieces of step bytes. open returns a new reader
// of answers.
func SameInSteps(t *testing.T, open func() wire.Answer, stream bool, body []byte, step int) {
	step = max(step, 1)
	kind := "application/json"
	if stream {
		kind = "text/event-stream"
	}
	read := func(step int) (o backends.Outcome, detail string) {
		a := open()
		a.Begin(kind)
		for at := 0; at < len(body); at += min(step, len(body)) {
			p := body[at:min(at+step, len(body))]
			for n := 1; n > 0; {
				n, p = a.Feed(p)
			}
		}
		detail = a.Finish(&o, backends.OK)
		return o, detail
	}
	whole, why := read(len(body) + 1)
	pieces, _ := read(step)
	require.Equal(t, whole.Reason, pieces.Reason)
	require.Equal(t, whole.NTokens, pieces.NTokens)
	require.True(t, slices.Equal(whole.Tokens, pieces.Tokens))
	require.Equal(t, string(whole.Text), string(pieces.Text))
	require.Equal(t, whole.Reason == backends.OK, why == "")
	if whole.Reason == backends.OK {
		require.Positive(t, whole.NTokens)
		require.NotEmpty(t, whole.FinishReason)
	}
}
