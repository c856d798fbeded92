package finder

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/httpclient"
)

// hub publishes acme/llm-7b over TLS and serves large files from another host.
func hub(t *testing.T, files map[string][]byte,
	change func(w http.ResponseWriter, r *http.Request) bool) (address string, o Options) {
	t.Helper()
	store := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			http.Error(w, "the token went astray", http.StatusTeapot)
			return
		}
		_, _ = w.Write(files[filepath.Base(r.URL.Path)])
	}))
	main := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/acme/llm-7b/resolve/main/")
		data, has := files[name]
		switch {
		case change != nil && change(w, r):
		case !ok || !has:
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer quite-secret":
			http.Error(w, "who are you?", http.StatusUnauthorized)
		default:
			sum := sha256.Sum256(data)
			w.Header().Set("X-Repo-Commit", commit)
			w.Header().Set("X-Linked-Etag", `"`+hex.EncodeToString(sum[:])+`"`)
			http.Redirect(w, r, store.URL+"/"+name+"?signature=also-secret", http.StatusFound)
		}
	}))
	t.Cleanup(main.Close)
	t.Cleanup(store.Close)
	// Both servers of the test have the same certificate.
	authorities := x509.NewCertPool()
	authorities.AddCert(main.Certificate())
	return main.URL, Options{Name: "acme/llm-7b", Hub: main.URL, Cache: filepath.Join(t.TempDir(), "hub"),
		Token: "quite-secret", Fetch: true, Web: httpclient.Options{Authorities: authorities}}
}

func TestFetches(t *testing.T) {
	_, o := hub(t, map[string][]byte{"tokenizer.json": made(t),
		"tokenizer_config.json": []byte(`{"clean_up_tokenization_spaces": true}`)}, nil)
	f, err := Find(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, ByFetch, f.Way)
	require.Equal(t, commit, f.Revision)
	text, err := f.Decode(t.Context(), []int32{300, ' ', '.'}, true)
	require.NoError(t, err)
	require.Equal(t, "hello.", text, "tokenizer_config.json came too")

	// The next lookup needs no network.
	again, err := Find(t.Context(), Options{Name: o.Name, Cache: o.Cache})
	require.NoError(t, err)
	require.Equal(t, ByCache, again.Way)
	require.Equal(t, f.SHA256, again.SHA256)
	require.Equal(t, f.Place, again.Place)
}

func TestTokenFile(t *testing.T) {
	_, o := hub(t, map[string][]byte{"tokenizer.json": made(t)}, nil)
	o.Token, o.TokenFile = "", filepath.Join(t.TempDir(), "token")
	_, err := Find(t.Context(), o)
	require.ErrorContains(t, err, "401", "a token file that is missing is no error of its own")
	require.ErrorContains(t, err, "set HF_TOKEN")
	put(t, o.TokenFile, nil)
	_, err = Find(t.Context(), o)
	require.ErrorContains(t, err, "401", "nor is an empty one")
	folder := o
	folder.TokenFile = t.TempDir()
	_, err = Find(t.Context(), folder)
	require.ErrorContains(t, err, "reading the token for the hub")
	put(t, o.TokenFile, []byte(strings.Repeat("x", 5000)))
	_, err = Find(t.Context(), o)
	require.ErrorContains(t, err, "reading the token for the hub")
	put(t, o.TokenFile, []byte("quite-secret\n"))
	_, err = Find(t.Context(), o)
	require.NoError(t, err)
}

func TestFetchRefuses(t *testing.T) {
	files := map[string][]byte{"tokenizer.json": made(t)}
	redirect := func(to string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, to, http.StatusFound)
			return true
		}
	}
	for _, c := range []struct {
		name   string
		files  map[string][]byte
		change func(http.ResponseWriter, *http.Request) bool
		set    func(*Options)
		want   string
	}{
		{"no such model", files, nil, func(o *Options) { o.Name = "acme/llm-8b" },
			"has neither a tokenizer.json nor a tokenizer.model"},
		{"certificate", files, nil, func(o *Options) { o.Web.Authorities = nil }, "certificate"},
		{"plain address", files, nil, func(o *Options) { o.Hub = "http://hub.example" }, "is not https"},
		{"no address", files, nil, func(o *Options) { o.Hub = "hub" }, "is not a URL of the form"},
		{"password in the address", files, nil, func(o *Options) { o.Hub = "https://u:quite-secret@hub.example" },
			"is not a URL of the form"},
		{"no cache", files, nil, func(o *Options) { o.Cache = "" }, "no cache folder to store it in"},
		{"revision", files, nil, func(o *Options) { o.Revision = "a/b" }, "is not a branch"},
		{"plain redirect", files, redirect("http://hub.example/?signature=also-secret"), nil,
			"redirects to an address that is not https"},
		{"redirects for ever", files, redirect("/round"), nil, "redirects more than 5 times"},
		{"no tokenizer", map[string][]byte{"tokenizer.json": []byte("<html>")}, nil, nil, "it is not a valid tokenizer.json"},
		{"too large", files, func(w http.ResponseWriter, r *http.Request) bool {
			zeros := make([]byte, 1<<20)
			for n := 0; n < 66; n++ {
				if _, err := w.Write(zeros); err != nil {
					break
				}
			}
			return true
		}, nil, "it has more than 67108864 bytes"},
		{"broken on the way", files, func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("X-Linked-Etag", strings.Repeat("0", 64))
			_, _ = w.Write([]byte("{}"))
			return true
		}, nil, "expected 0000"},
		{"server's fault", files, func(w http.ResponseWriter, r *http.Request) bool {
			http.Error(w, "tired", http.StatusBadGateway)
			return true
		}, nil, "the hub answered 502"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, o := hub(t, c.files, c.change)
			if c.set != nil {
				c.set(&o)
			}
			_, err := Find(t.Context(), o)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "secret")
			left, err := filepath.Glob(filepath.Join(o.Cache, "models--*", "snapshots", "*"))
			require.NoError(t, err)
			require.Empty(t, left, "nothing half-way is left in the cache")
		})
	}
}
