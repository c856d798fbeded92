package finder

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/tokenizer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const commit = "0123456789abcdef0123456789abcdef01234567"

// made returns a tokenizer.json with single bytes and a few words.
func made(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	words := func(yield func(int32, string) bool) {
		for b := range 256 {
			if !yield(int32(b), string([]byte{byte(b)})) {
				return
			}
		}
		yield(300, "hello")
	}
	require.NoError(t, tokenizer.WriteWords(&file, words, []tokenizer.SpecialToken{{ID: 400, Text: "<begin>"}}))
	return file.Bytes()
}

// cacheOf creates a Hugging Face cache with one model.
func cacheOf(t *testing.T, file []byte) (cache, path string) {
	t.Helper()
	cache = filepath.Join(t.TempDir(), "hub")
	model := filepath.Join(cache, "models--acme--llm-7b")
	path = filepath.Join(model, "snapshots", commit, "tokenizer.json")
	put(t, path, file)
	put(t, filepath.Join(model, "refs", "main"), []byte(commit+"\n"))
	return cache, path
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o644))
}

func TestFindsFiles(t *testing.T) {
	cache, path := cacheOf(t, made(t))
	// The library huggingface_hub stores the file elsewhere and links to it.
	blob := filepath.Join(cache, "models--acme--llm-7b", "blobs", "abc")
	require.NoError(t, os.MkdirAll(filepath.Dir(blob), 0o755))
	require.NoError(t, os.Rename(path, blob))
	require.NoError(t, os.Symlink("../../blobs/abc", path))

	cached := Source{Way: ByCache, Name: "acme/llm-7b", Place: path, Revision: commit}
	for _, c := range []struct {
		name string
		o    Options
		want Source
	}{
		{"file", Options{Name: path}, Source{Way: ByPath, Place: path}},
		{"folder", Options{Name: filepath.Dir(path)}, Source{Way: ByPath, Place: path}},
		{"name", Options{Name: "acme/llm-7b", Cache: cache}, cached},
		{"commit", Options{Name: "acme/llm-7b", Cache: cache, Revision: commit}, cached},
		{"the model's names", Options{Models: []string{"acme/llm-8b", "acme/llm-7b"}, Cache: cache}, cached},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Find(t.Context(), c.o)
			require.NoError(t, err)
			require.Len(t, f.SHA256, 64)
			got := f.Source
			got.SHA256 = ""
			require.Equal(t, c.want, got)
			n, err := f.Count(t.Context(), "hello!")
			require.NoError(t, err)
			require.Equal(t, 2, n)
			ids, err := f.Encode(t.Context(), "hello!", true)
			require.NoError(t, err)
			require.Equal(t, []int32{400, 300, '!'}, ids)
			text, err := f.Decode(t.Context(), ids, true)
			require.NoError(t, err)
			require.Equal(t, "hello!", text)
		})
	}
}

func TestErrorListsTheFourWays(t *testing.T) {
	cache, _ := cacheOf(t, made(t))
	broken, path := cacheOf(t, []byte("{"))
	escaping, _ := cacheOf(t, made(t))
	put(t, filepath.Join(escaping, "models--acme--llm-7b", "refs", "main"), []byte("../../../etc"))
	odd, _ := cacheOf(t, made(t))
	main := filepath.Join(odd, "models--acme--llm-7b", "refs", "main")
	require.NoError(t, os.Remove(main))
	require.NoError(t, os.Mkdir(main, 0o755))
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"nothing", Options{}, "no cache folder (set HF_HOME)"},
		{"no cache", Options{Name: "acme/llm-8b"}, "no cache folder (set HF_HOME)"},
		{"not in the cache", Options{Name: "acme/llm-8b", Cache: cache}, "no such file"},
		{"other revision", Options{Name: "acme/llm-7b", Cache: cache, Revision: "other"}, "no such file"},
		{"revision that climbs", Options{Name: "acme/llm-7b", Cache: cache, Revision: "../x"},
			`"../x" is not a branch or commit`},
		{"name that climbs", Options{Name: "../../etc", Cache: cache}, "as a path"},
		{"reference that climbs", Options{Name: "acme/llm-7b", Cache: escaping}, "which is not a commit"},
		{"reference that is a folder", Options{Name: "acme/llm-7b", Cache: odd}, "main: is a directory"},
		{"broken file in the cache", Options{Name: "acme/llm-7b", Cache: broken}, "cannot use tokenizer " + path},
		{"no endpoint", Options{Name: "acme/llm-8b"}, "no endpoint given"},
		{"no download", Options{Name: "acme/llm-8b"}, "downloads are not allowed"},
		{"offline", Options{Name: "acme/llm-8b", Fetch: true, Offline: true}, "HF_HUB_OFFLINE forbids downloads"},
		{"no name for the hub", Options{Fetch: true}, "the model's name on the hub is not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Find(t.Context(), c.o)
			require.ErrorContains(t, err, c.want)
			for _, way := range []string{"--tokenizer", "HF_HOME", "--endpoint", "--fetch-tokenizer"} {
				require.ErrorContains(t, err, way)
			}
			require.NotContains(t, err.Error(), "\n")
		})
	}
	// If the user names a file, Find either uses or rejects it, and never replaces it by another one.
	_, err := Find(t.Context(), Options{Name: path, Cache: cache})
	require.ErrorContains(t, err, "cannot use tokenizer "+path)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Find(ctx, Options{Name: "acme/llm-8b"})
	require.ErrorIs(t, err, context.Canceled)
}

// A name is refused early only if it can be nothing but a path, and nothing is there.
func TestCheck(t *testing.T) {
	_, path := cacheOf(t, made(t))
	for _, name := range []string{path, filepath.Dir(path), "acme/llm-7b", "llama/model.v2"} {
		require.NoError(t, Check(name), name)
	}
	for _, name := range []string{path + "x.json", "/none/tokenizer.json", "acme/tokenizer.json", "acme/tokenizer.model",
		t.TempDir(), "a/b/c", "../x"} {
		require.ErrorContains(t, Check(name), "no tokenizer found for", name)
	}
}

func TestFromEnviron(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    Options
	}{
		{nil, Options{}},
		{[]string{"HOME=/home/a"}, Options{Cache: "/home/a/.cache/huggingface/hub",
			TokenFile: "/home/a/.cache/huggingface/token"}},
		{[]string{"HOME=/home/a", "XDG_CACHE_HOME=/x"},
			Options{Cache: "/x/huggingface/hub", TokenFile: "/x/huggingface/token"}},
		{[]string{"HOME=/home/a", "HF_HOME=~/hf", "HF_TOKEN=secret"},
			Options{Cache: "/home/a/hf/hub", TokenFile: "/home/a/hf/token", Token: "secret"}},
		{[]string{"HF_HOME=/h", "HF_HUB_CACHE=/c", "HF_ENDPOINT=https://hub", "HF_TOKEN_PATH=/t"},
			Options{Cache: "/c", TokenFile: "/t", Hub: "https://hub"}},
		{[]string{"HUGGINGFACE_HUB_CACHE=/c", "HF_HUB_OFFLINE=1", "HUGGING_FACE_HUB_TOKEN=old"},
			Options{Cache: "/c", Offline: true, Token: "old"}},
		{[]string{"TRANSFORMERS_OFFLINE=TRUE", "HF_HOME="}, Options{Offline: true}},
	} {
		require.Equal(t, c.want, FromEnviron(c.environ), "%q", c.environ)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	o := Options{Token: "quite-secret", Server: &Server{Key: "quite-secret"}}
	text, err := o.Token.MarshalText()
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		require.NotContains(t, fmt.Sprintf(verb, o.Token)+fmt.Sprintf(verb, *o.Server)+string(text), "quite-secret", verb)
	}
}

func TestSourceString(t *testing.T) {
	require.Equal(t, "tokenizer: made here (path)", (&Found{Source: Source{Way: ByPath, Place: "made here"}}).String())
	require.Equal(t, "tokenizer: p (hugging-face-cache, revision abc)",
		Source{Way: ByCache, Place: "p", Revision: "abc"}.String())
}
