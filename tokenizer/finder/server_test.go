package finder

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dialect contains a server's names of the fields in requests and answers.
type dialect struct{ encode, special, decode, text string }

var (
	vllm     = dialect{"prompt", "add_special_tokens", "tokens", "prompt"}
	sglang   = dialect{"prompt", "add_special_tokens", "tokens", "text"}
	llamacpp = dialect{"content", "add_special", "tokens", "content"}
)

// serve starts a server whose tokens are the bytes of a text. Token 1 is the begin-of-text token.
func serve(t *testing.T, d dialect, key string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	body := func(r *http.Request) map[string]any {
		var m map[string]any
		if r.Header.Get("Authorization") != key || json.NewDecoder(r.Body).Decode(&m) != nil {
			return nil
		}
		return m
	}
	mux.HandleFunc("POST /tokenize", func(w http.ResponseWriter, r *http.Request) {
		m := body(r)
		text, ok := m[d.encode].(string)
		if !ok {
			http.Error(w, "no text", http.StatusUnauthorized)
			return
		}
		ids := []int{}
		if m[d.special] == true {
			ids = append(ids, 1)
		}
		for _, b := range []byte(text) {
			ids = append(ids, int(b))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"tokens": ids, "count": len(ids), "max_model_len": 100})
	})
	mux.HandleFunc("POST /detokenize", func(w http.ResponseWriter, r *http.Request) {
		m := body(r)
		var text strings.Builder
		for _, id := range m[d.decode].([]any) {
			if id.(float64) == 1 {
				if d != sglang || m["skip_special_tokens"] == false {
					text.WriteString("<begin>")
				}
				continue
			}
			text.WriteByte(byte(id.(float64)))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{d.text: text.String()})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		s.Close()
	})
	return s
}

func TestServersTokenizer(t *testing.T) {
	for name, d := range map[string]dialect{"vllm": vllm, "sglang": sglang, "llama.cpp": llamacpp} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, d, "Bearer k")
			f, err := Find(t.Context(), Options{Server: &Server{URL: s.URL + "/v1/", Model: "m", Key: "k"}})
			require.NoError(t, err)
			require.Equal(t, Source{Way: ByServer, Name: "m", Place: s.URL}, f.Source)
			ids, err := f.Encode(t.Context(), "abc", true)
			require.NoError(t, err)
			require.Equal(t, []int32{1, 'a', 'b', 'c'}, ids)
			n, err := f.Count(t.Context(), "abc")
			require.NoError(t, err)
			require.Equal(t, 3, n)
			text, err := f.Decode(t.Context(), ids, false)
			require.NoError(t, err)
			require.Equal(t, "<begin>abc", text)
			text, err = f.Decode(t.Context(), ids, true)
			if d == sglang {
				require.NoError(t, err)
				require.Equal(t, "abc", text)
			} else {
				require.ErrorContains(t, err, "does not omit special tokens")
			}
			_, err = Find(t.Context(), Options{Server: &Server{URL: s.URL, Model: "m", Key: "k"}, Plain: true})
			if d == sglang {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "does not omit special tokens")
			}
			text, err = f.Decode(t.Context(), nil, true)
			require.NoError(t, err)
			require.Empty(t, text)
		})
	}
}

// A server behind a Unix socket works like any other.
func TestServerBehindASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(serve(t, vllm, "").Config.Handler)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	defer s.Close()
	f, err := Find(t.Context(), Options{Server: &Server{URL: "unix://" + path}})
	require.NoError(t, err)
	require.Equal(t, "unix://"+path, f.Source.Place)
	n, err := f.Count(t.Context(), "abc")
	require.NoError(t, err)
	require.Equal(t, 3, n)
	_, err = Find(t.Context(), Options{Server: &Server{URL: "unix://" + path + "x"}})
	require.ErrorContains(t, err, "no such file")
}

func TestUnusableServers(t *testing.T) {
	for _, c := range []struct {
		name string
		do   http.HandlerFunc
		want string
	}{
		{"none", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "what?", http.StatusNotFound) },
			"/tokenize answers 404"},
		{"no tokens", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"count": 3}`)) },
			"without the field tokens"},
		{"empty", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"tokens": []}`)) },
			"no token for a letter"},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`<html>`)) },
			"does not answer with JSON of ids"},
		{"too high", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"tokens": [99999999999]}`)) },
			"does not answer with JSON of ids"},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"tokens":`))
		}, "reading the answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(c.do)
			defer s.Close()
			_, err := Find(t.Context(), Options{Server: &Server{URL: s.URL}})
			require.ErrorContains(t, err, c.want)
		})
	}
}

// The key and the prompts are sent only to the named server, even if it answers with a redirect.
func TestServersRedirectIsNotFollowed(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(`{"tokens":[1]}`))
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, status)
		}))
		t.Cleanup(s.Close)
		_, err := Find(t.Context(), Options{Server: &Server{URL: s.URL, Key: "k"}})
		require.ErrorContains(t, err, "name the final address")
	}
	require.Zero(t, asked)
}
