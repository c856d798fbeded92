package parcel

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func open(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

func folder(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return open(t, dir)
}

func contents(t *testing.T, root *os.Root) map[string]string {
	t.Helper()
	m, err := Make(root)
	require.NoError(t, err)
	all := map[string]string{}
	for _, f := range m.Files {
		text, err := root.ReadFile(f.Path)
		require.NoError(t, err)
		all[f.Path] = string(text)
	}
	return all
}

// TestWhole sends folders with links, hidden files and empty files, and compares the result.
func TestWhole(t *testing.T) {
	files := map[string]string{"run.json": "{}", "a/b/empty": "", "a/long": strings.Repeat("0123456789", 100_000)}
	from := folder(t, files)
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(from.Name(), "link")))
	require.NoError(t, os.WriteFile(filepath.Join(from.Name(), ".unfinished"), []byte("x"), 0o644))
	var stream bytes.Buffer
	require.NoError(t, Send(&stream, from, nil))
	to := open(t, t.TempDir())
	m, err := Receive(&stream, to, DefaultLimits)
	require.NoError(t, err)
	require.Len(t, m.Files, 3)
	require.Empty(t, cmp.Diff(files, contents(t, to)))
	require.EqualValues(t, 1_000_002, m.Bytes())
}

// TestCuts cuts the stream at random places until all files have arrived. No file may ever be incomplete, and none may
// be sent twice.
func TestCuts(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		noise := make([]byte, 10_000)
		rand.Read(noise)
		files[fmt.Sprintf("d%d/f%d", i%3, i)] = string(noise)
	}
	from := folder(t, files)
	for seed := range uint64(10) {
		random := mathrand.New(mathrand.NewPCG(seed, 0))
		to := open(t, t.TempDir())
		var m *Manifest
		sent := 0
		for attempt := 0; ; attempt++ {
			require.Less(t, attempt, 200)
			var stream bytes.Buffer
			require.NoError(t, Send(&stream, from, Have(to, m)))
			cut := random.IntN(stream.Len() + 2000)
			sent += min(cut, stream.Len())
			got, err := Receive(io.LimitReader(&stream, int64(cut)), to, DefaultLimits)
			if got != nil {
				m = got
			}
			for name, text := range contents(t, to) {
				require.Equal(t, files[name], text)
			}
			if err == nil {
				break
			}
		}
		require.Empty(t, cmp.Diff(files, contents(t, to)))
	}
}

func stream(t *testing.T, entries ...any) io.Reader {
	t.Helper()
	var buffer bytes.Buffer
	packed, err := zstd.NewWriter(&buffer)
	require.NoError(t, err)
	archive := tar.NewWriter(packed)
	for _, e := range entries {
		switch e := e.(type) {
		case Manifest:
			text, err := json.Marshal(e)
			require.NoError(t, err)
			require.NoError(t, put(archive, manifestName, int64(len(text)), bytes.NewReader(text)))
		case tar.Header:
			require.NoError(t, archive.WriteHeader(&e))
			_, err := archive.Write(make([]byte, e.Size))
			require.NoError(t, err)
		}
	}
	require.NoError(t, archive.Close())
	require.NoError(t, packed.Close())
	return &buffer
}

// TestHostile contains streams that a foreign server could send, and what each must not do.
func TestHostile(t *testing.T) {
	zeros := "df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119" // the SHA-256 of "\0\0\0\0"
	list := func(path string, size int64) Manifest {
		return Manifest{Schema: Schema, Files: []File{{Path: path, Size: size, SHA256: zeros}}}
	}
	regular := func(name string) tar.Header {
		return tar.Header{Name: name, Size: 4, Typeflag: tar.TypeReg, Mode: 0o600}
	}
	twice := list("a", 4)
	twice.Files = append(twice.Files, twice.Files[0])
	for name, c := range map[string]struct {
		entries []any
		want    string
	}{
		"outside":  {[]any{list("../a", 4), regular("../a")}, "not one of a result"},
		"absolute": {[]any{list("/tmp/a", 4), regular("/tmp/a")}, "not one of a result"},
		"hidden":   {[]any{list("a/.ssh", 4), regular("a/.ssh")}, "not one of a result"},
		"twice":    {[]any{twice}, "twice"},
		"unlisted": {[]any{list("a", 4), regular("b")}, "does not list"},
		"link": {[]any{list("a", 0), tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}},
			"does not list"},
		"size":          {[]any{list("a", 5), regular("a")}, "does not list"},
		"content":       {[]any{list("a", 4), tar.Header{Name: "a", Size: 4, Typeflag: tar.TypeReg}}, ""},
		"missing":       {[]any{list("a", 4)}, "without"},
		"huge":          {[]any{list("a", 1<<41)}, "more than"},
		"negative":      {[]any{list("a", -1)}, "more than"},
		"no manifest":   {[]any{regular("a")}, "expected a manifest"},
		"other schema":  {[]any{Manifest{Schema: "x"}}, "schema"},
		"empty archive": {nil, "manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			to := open(t, t.TempDir())
			_, err := Receive(stream(t, c.entries...), to, DefaultLimits)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.Empty(t, contents(t, to))
		})
	}
}

// TestPlantedLinks plants a link at each component of a path and checks that nothing is written through it.
func TestPlantedLinks(t *testing.T) {
	from := folder(t, map[string]string{"a/b/c": "text"})
	for _, planted := range []string{"a", "a/b", "a/b/c"} {
		outside := t.TempDir()
		to := open(t, t.TempDir())
		require.NoError(t, os.MkdirAll(filepath.Join(to.Name(), filepath.Dir(planted)), 0o755))
		require.NoError(t, os.Symlink(outside, filepath.Join(to.Name(), planted)))
		var s bytes.Buffer
		require.NoError(t, Send(&s, from, nil))
		_, err := Receive(&s, to, DefaultLimits)
		require.Error(t, err, planted)
		entries, err := os.ReadDir(outside)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

func FuzzReceive(f *testing.F) {
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte("{}"), 0o644); err != nil {
		f.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		f.Fatal(err)
	}
	defer root.Close()
	var s bytes.Buffer
	if err := Send(&s, root, nil); err != nil {
		f.Fatal(err)
	}
	f.Add(s.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		to := open(t, t.TempDir())
		m, err := Receive(bytes.NewReader(data), to, Limits{Files: 10, Bytes: 1 << 20, Manifest: 1 << 16})
		if err == nil && len(Have(to, m)) != len(m.Files) {
			t.Errorf("no error, and files are missing")
		}
	})
}
