package pack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Each kind of secret is found from its shortest form on. The parts are joined here, so that this file contains none.
func TestShortestSecrets(t *testing.T) {
	x := func(n int) string { return strings.Repeat("A", n) }
	for _, c := range []struct{ begin, rest, end, kind string }{
		{"-----BEGIN ", "PRIVATE KEY", "", "a private key"},
		{"-----BEGIN RSA ", "PRIVATE KEY", "", "a private key"},
		{"hf" + "_", x(30), "", "a Hugging Face token"},
		{"sk" + "-", x(20), "", "an API key"},
		{"AK" + "IA", x(16), "", "a cloud provider's key"},
		{"AS" + "IA", x(16), "", "a cloud provider's key"},
		{"AI" + "za", x(35), "", "a cloud provider's key"},
		{"gh" + "p_", x(36), "", "a GitHub token"},
		{"gh" + "o_", x(36), "", "a GitHub token"},
		{"gh" + "s_", x(36), "", "a GitHub token"},
		{"github" + "_pat_", x(40), "", "a GitHub token"},
		{"gl" + "pat-", x(20), "", "a GitLab token"},
		{"xo" + "xb-", x(10), "", "a chat service's token"},
		{"nv" + "api-", x(20), "", "an NGC key"},
		{"ey" + "J" + x(10) + ".eyJ" + x(10) + ".", x(10), "", "a signed web token"},
		{"Bearer ", x(16), "", "a bearer token"},
		{"bearer ", x(16), "", "a bearer token"},
		{"://me:", x(3), "@", "a password in a URL"},
		{"api_key=", x(12), "", "an assigned secret"},
		{"API-KEY: ", x(12), "", "an assigned secret"},
		{"Api_Key: ", x(12), "", "an assigned secret"},
		{"auth_token=", x(12), "", "an assigned secret"},
		{"AUTH_TOKEN=", x(12), "", "an assigned secret"},
		{"password='", x(12), "'", "an assigned secret"},
		{"PASSWD=", x(12), "", "an assigned secret"},
		{"secret_access_key=", x(12), "", "an assigned secret"},
	} {
		for _, around := range []string{"", " ", "\""} {
			found, err := search(strings.NewReader(around + c.begin + c.rest + c.end + around))
			require.NoError(t, err)
			require.Equal(t, []secret{{1, c.kind}}, found, c.begin)
		}
		found, err := search(strings.NewReader(c.begin + c.rest[1:] + c.end))
		require.NoError(t, err)
		require.Empty(t, found, "%s, one sign less", c.begin)
	}
}

// A file may have as many bytes as the organisers accept.
func TestLargestFile(t *testing.T) {
	for more := range int64(2) {
		root := tree(t)
		put(t, root, "closed/Acme/src/big", "")
		require.NoError(t, os.Truncate(filepath.Join(root, "closed/Acme/src/big"), maxFileSize+more))
		r, err := Pack(context.Background(), Options{Root: root, Output: t.TempDir()})
		require.Equal(t, more == 0, err == nil, "%v", err)
		if more == 0 {
			require.Equal(t, 7, r.Files)
			info, err := os.Stat(r.Tarball)
			require.NoError(t, err)
			require.Equal(t, info.Size(), r.Bytes)
		}
	}
}

func TestNamesInATree(t *testing.T) {
	for name, code := range map[string]string{
		"guide.md": "", "guide.pdf": "", "guide.MD": "stray", "md": "stray", "closed.md": "", "closed/Acme/a\tb": "name",
		"closed/Acme/a\nb": "name", "closed/Acme/a\rb": "name", `closed/Acme/a\b`: "name", "closed/Acme/a:b": "",
		"closed/Acme/a b/c": "name", "closed/Acme/.a": "hidden", "network": notPlain, "network/Acme/a": "",
		"other/Acme/a": "stray",
		"a.b.md":       "", ".md": "hidden",
	} {
		root := tree(t)
		put(t, root, name, "x")
		_, err := Pack(context.Background(), Options{Root: root, Output: t.TempDir()})
		if code == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, "("+code+")", name)
	}
	for _, name := range layout.ProbeFiles() {
		root := tree(t)
		put(t, root, "closed/Acme/"+name, "{}")
		_, err := Pack(context.Background(), Options{Root: root, Output: t.TempDir()})
		require.ErrorContains(t, err, "(probe)", name)
	}
}

// A file beside the submitters' folders is no submitter, and is not packed.
func TestFilesBesideSubmitters(t *testing.T) {
	root := tree(t)
	put(t, root, "closed/notes.txt", "x")
	put(t, root, "network/README.md", "x")
	r, err := Pack(context.Background(), Options{Root: root, Output: t.TempDir()})
	require.NoError(t, err)
	require.Equal(t, []any{"Acme", 6}, []any{r.Submitter, r.Files})
	for _, name := range []string{"notes.txt", "README.md", "acme", "closed"} {
		_, err = Pack(context.Background(), Options{Root: root, Output: t.TempDir(), Submitter: name})
		require.ErrorContains(t, err, fmt.Sprintf("the tree has no submitter %q", name))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(root, "closed", "Acme")))
	r, err = Pack(context.Background(), Options{Root: root, Output: t.TempDir(), Submitter: "Acme"})
	require.NoError(t, err)
	require.Equal(t, 3, r.Files, "of one division")
	require.NoError(t, os.RemoveAll(filepath.Join(root, "open", "Acme")))
	_, err = Pack(context.Background(), Options{Root: root, Output: t.TempDir()})
	require.ErrorContains(t, err, "no submitter's folder found in closed, open, network")
}

// A refusal shows a hundred problems and counts the others.
func TestLongRefusals(t *testing.T) {
	for n, want := range map[int]string{1: "(1)", maxShown: "(100)", maxShown + 1: "and 1 more\n", 250: "and 150 more\n"} {
		r := &Refusal{}
		for i := range n {
			r.Problems = append(r.Problems, Problem{fmt.Sprintf("f%d", i), "code", "text"})
		}
		require.ErrorContains(t, r, want)
		require.Equal(t, min(n, maxShown), strings.Count(r.Error(), ": text (code)\n"))
		require.Equal(t, n > maxShown, strings.Contains(r.Error(), " more\n"))
		require.True(t, strings.HasSuffix(r.Error(), "nothing was packed"))
	}
}

func TestOutputFolders(t *testing.T) {
	root := tree(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, err := Pack(context.Background(), Options{Root: root, Output: file})
	require.ErrorContains(t, err, "cannot create the output folder")
	_, err = Pack(context.Background(), Options{Root: filepath.Join(root, "absent"), Output: t.TempDir()})
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, suffix := range []string{tarballSuffix, sha1Suffix, sha256Suffix, listSuffix} {
		out := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(out, namePrefix+"Acme"+suffix, "x"), 0o755))
		_, err = Pack(context.Background(), Options{Root: root, Output: out})
		require.Error(t, err, "a folder is in the place of %s", suffix)
	}
	out := filepath.Join(t.TempDir(), "new", "folders")
	r, err := Pack(context.Background(), Options{Root: root, Output: out})
	require.NoError(t, err)
	for _, suffix := range []string{sha1Suffix, sha256Suffix} {
		text, err := os.ReadFile(filepath.Join(out, namePrefix+"Acme"+suffix))
		require.NoError(t, err)
		sum := map[string]string{sha1Suffix: r.SHA1, sha256Suffix: r.SHA256}[suffix]
		require.Equal(t, sum+"  mlperf_submission_Acme.tar.gz\n", string(text))
	}
}

// A tarball that has a file twice, or one that was not listed, is not the tree's.
func TestTarballsWithMore(t *testing.T) {
	dir := t.TempDir()
	out, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer out.Close()
	write := func(names ...string) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, name := range names {
			require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 0}))
		}
		require.NoError(t, errors.Join(w.Close(), z.Close()))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "t"), b.Bytes(), 0o644))
	}
	const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	files := []file{{path: "a", sha256: nothing}, {path: "b", sha256: nothing}}
	for want, names := range map[string][]string{
		"": {"a", "b"}, "a has different content": {"a", "a", "b"}, "c has different content": {"a", "b", "c"},
		"1 file is missing": {"b"}, "2 files are missing": {},
	} {
		write(names...)
		err := compare(context.Background(), out, "t", files, "")
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	require.ErrorIs(t, compare(context.Background(), out, "absent", files, ""), os.ErrNotExist)
	require.ErrorContains(t, compare(context.Background(), out, "t", files, "p"), "not an encrypted file")
	ctx, end := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	end(enough)
	write("a", "b")
	require.ErrorIs(t, compare(ctx, out, "t", files, ""), enough)
}

// A tarball that is cut off is not the tree's, nor is one with a wrong bit, wherever that is, unless gzip reads the
// same from it.
func TestDamageAnywhereInATarball(t *testing.T) {
	root, dir := tree(t), t.TempDir()
	tree, err := os.OpenRoot(root)
	require.NoError(t, err)
	defer tree.Close()
	out, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer out.Close()
	ctx := context.Background()
	files, err := list(ctx, tree, "Acme")
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, archive(ctx, &b, tree, files, ""))
	check := func(tarball []byte) error {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "t"), tarball, 0o644))
		return compare(ctx, out, "t", files, "")
	}
	unzipped := func(tarball []byte) []byte {
		z, err := gzip.NewReader(bytes.NewReader(tarball))
		require.NoError(t, err)
		text, err := io.ReadAll(z)
		require.NoError(t, err)
		return text
	}
	require.NoError(t, check(b.Bytes()))
	for at := 0; at < b.Len(); at += 1 + at%17 {
		require.Error(t, check(b.Bytes()[:at]), "cut to %d bytes", at)
		damaged := bytes.Clone(b.Bytes())
		damaged[at] ^= 1 << (at % 8)
		if check(damaged) == nil {
			require.True(t, bytes.Equal(unzipped(b.Bytes()), unzipped(damaged)), "byte %d", at)
		}
	}
}

// The walk ends at the first file too many.
func TestMostFiles(t *testing.T) {
	root, err := os.OpenRoot(tree(t))
	require.NoError(t, err)
	defer root.Close()
	l := &lister{tree: root, files: make([]file, maxFiles-1)}
	require.NoError(t, l.walk(context.Background(), "open/Acme"))
	require.Len(t, l.files, maxFiles+1)
	require.ErrorContains(t, l.walk(context.Background(), "open/Acme"), "the tree has more than 1000000 files")
	require.NoError(t, l.walk(context.Background(), "open/none"))
}

func TestHeadOfAnEncryptedFile(t *testing.T) {
	for text, ok := range map[string]bool{"": false, magic + "1234567": false, magic + "12345678": true,
		"salted__12345678": false,
		"Salted_12345678x": false} {
		_, err := decrypt(strings.NewReader(text), "p")
		require.Equal(t, ok, err == nil, text)
	}
}
