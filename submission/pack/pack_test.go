package pack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/submission/treetest"
)

// tree is a small tree with odd but allowed names.
func tree(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"README.md":                    "hello\n",
		"closed/Acme/systems/box.json": "{}\n",
		"closed/Acme/results/box/m/Server/accuracy/accuracy.txt":     "hash=00\n",
		"closed/Acme/src/m/" + strings.Repeat("deep/", 30) + "x.txt": strings.Repeat("y", 70000),
		"open/Acme/results/box/m/Offline/user.conf":                  "*.Offline.target_qps = 1\n",
		"open/Acme/results/box/m/Offline/empty":                      "",
	} {
		put(t, root, name, text)
	}
	return root
}

func put(t testing.TB, root, name, text string) {
	t.Helper()
	at := filepath.Join(root, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(t, os.WriteFile(at, []byte(text), 0o640))
}

func tool(t testing.TB, folder, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", "set -o pipefail; "+script)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// The organisers unpack with tar and openssl, and check with sha1sum. The test does the same.
func TestOrganisersCanUnpackTarballs(t *testing.T) {
	for _, name := range []string{"tar", "openssl", "sha1sum", "sha256sum"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	for _, password := range []string{"", "correct horse, battery staple"} {
		root, out, to := tree(t), t.TempDir(), t.TempDir()
		r, err := Pack(context.Background(), Options{Root: root, Output: out, Password: password})
		require.NoError(t, err)
		require.Equal(t, "Acme", r.Submitter)
		require.Equal(t, filepath.Join(out, "mlperf_submission_Acme.tar.gz"), r.Tarball)
		require.Equal(t, 6, r.Files)
		require.Equal(t, password != "", r.Encrypted)
		require.Equal(t, "mlperf_submission_Acme.tar.gz: OK\n", tool(t, out, "sha1sum -c mlperf_submission_Acme.sha1"))
		tool(t, out, "sha256sum -c mlperf_submission_Acme.sha256")
		unpack := "tar -xz -C " + to + " < mlperf_submission_Acme.tar.gz"
		if password != "" {
			put(t, out, "password", password+"\n")
			unpack = "openssl enc -d -aes256 -pass file:password -in mlperf_submission_Acme.tar.gz 2>/dev/null | tar -xz -C " +
				to
		}
		tool(t, out, unpack)
		require.Equal(t, treetest.Sums(t, root), treetest.Sums(t, to))
		tool(t, to, "sha256sum -c "+r.List)
	}
}

func TestWhatOpensslEncryptsIsDecrypted(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	dir := t.TempDir()
	put(t, dir, "plain", strings.Repeat("0123456789", 5000))
	tool(t, dir, "openssl enc -e -aes256 -pass pass:secret -in plain -out cipher 2>/dev/null")
	f, err := os.Open(filepath.Join(dir, "cipher"))
	require.NoError(t, err)
	defer f.Close()
	in, err := decrypt(f, "secret")
	require.NoError(t, err)
	text, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("0123456789", 5000), string(text))
}

func TestEncryptionReadsBackInAnyPieces(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var sealed bytes.Buffer
		w, err := encrypt(&sealed, "p")
		require.NoError(r, err)
		var all []byte
		for _, part := range rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(r, "parts") {
			_, err := w.Write(part)
			require.NoError(r, err)
			all = append(all, part...)
		}
		require.NoError(r, w.Close())
		in, err := decrypt(bytes.NewReader(sealed.Bytes()), "p")
		require.NoError(r, err)
		text, err := io.ReadAll(in)
		require.NoError(r, err)
		require.True(r, bytes.Equal(all, text))
		cut := rapid.IntRange(0, sealed.Len()-1).Draw(r, "cut")
		if in, err := decrypt(bytes.NewReader(sealed.Bytes()[:cut]), "p"); err == nil {
			text, err := io.ReadAll(in)
			require.True(r, err != nil || len(text) < len(all) || len(all) == 0, "a cut file is not taken for the whole")
		}
	})
}

func TestPackingIsDeterministic(t *testing.T) {
	var hashes []string
	for range 2 {
		r, err := Pack(context.Background(), Options{Root: tree(t), Output: t.TempDir()})
		require.NoError(t, err)
		hashes = append(hashes, r.SHA256)
	}
	require.Equal(t, hashes[0], hashes[1])
}

// The parts of made-up secrets are joined here, so that this file contains none.
var bad = map[string]struct{ name, text, code, kind string }{
	"probe":       {"closed/Acme/results/m/probes/001/probe.json", `{"kind":"probe"}`, "probe", "a tune, a sweep"},
	"experiment":  {"closed/Acme/results/m/x/experiment.json", `{"kind":"experiment"}`, "probe", "or an experiment"},
	"private key": {"closed/Acme/src/m/id", "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n", "secret", "a private key"},
	"hf token": {"closed/Acme/src/m/a.sh", "x\nexport HF_TOKEN=hf" + "_" + strings.Repeat("aB3", 12), "secret",
		"a Hugging Face token"},
	"api key":   {"closed/Acme/src/m/a.yaml", "api-key: " + strings.Repeat("q9", 10), "secret", "an assigned secret"},
	"cloud key": {"closed/Acme/src/m/env", "AKIA" + strings.Repeat("Z7", 8), "secret", "a cloud provider's key"},
	"bearer": {"closed/Acme/src/m/h", "Authorization: Bearer " + strings.Repeat("t0", 12), "secret",
		"a bearer token"},
	"url": {"closed/Acme/src/m/u", "https://me:" + "secret@host/x", "secret", "a password in a URL"},
	"in a long log": {"closed/Acme/src/m/log", strings.Repeat("7,", piece/2-9) + " ghp" + "_" + strings.Repeat("x", 36),
		"secret", "a GitHub token"},
	"hidden file":   {"closed/Acme/src/m/.env", "", "hidden", ""},
	"hidden folder": {"closed/Acme/.git/config", "", "hidden", ""},
	"blank":         {"closed/Acme/src/m/a b", "", "name", ""},
	"stray file":    {"notes.txt", "", "stray", ""},
}

func TestRefusedFiles(t *testing.T) {
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			root, out := tree(t), filepath.Join(t.TempDir(), "out")
			put(t, root, c.name, c.text)
			_, err := Pack(context.Background(), Options{Root: root, Output: out})
			var r *Refusal
			require.ErrorAs(t, err, &r)
			require.Len(t, r.Problems, 1, r.Error())
			require.Equal(t, c.code, r.Problems[0].Code)
			require.Contains(t, r.Problems[0].Text, c.kind)
			if c.code == "secret" {
				require.NotContains(t, r.Error(), c.text[len(c.text)-12:], "a secret is not repeated")
			}
			require.NoDirExists(t, out)
		})
	}
	root := tree(t)
	require.NoError(t, os.Symlink("README.md", filepath.Join(root, "closed/Acme/link")))
	put(t, root, "closed/Acme/big", "")
	require.NoError(t, os.Truncate(filepath.Join(root, "closed/Acme/big"), maxFileSize+1))
	_, err := Pack(context.Background(), Options{Root: root, Output: t.TempDir()})
	require.ErrorContains(t, err, "files that must not be packed (2)")
	require.ErrorContains(t, err, "closed/Acme/big: it has 52428801 bytes")
	require.ErrorContains(t, err, "closed/Acme/link: it is not a regular file")
}

// Ids, hashes, hexadecimal numbers and hidden keys, which runs write, are not secrets.
func TestNonSecrets(t *testing.T) {
	for _, text := range []string{
		"api-key: '***' # flag", "password: ", strings.Repeat("0A1B2C3D", 1000), "hash=" + strings.Repeat("0f", 32),
		"http://127.0.0.1:8000/v1", "sk-short",
		`{"data" : "` + strings.Repeat("41", 5000) + `"}`, "token: eyJust-a-word", "the password is not here",
	} {
		found, err := search(strings.NewReader(text))
		require.NoError(t, err)
		require.Empty(t, found, text)
	}
}

// Secrets are counted by line and kind, up to a limit. In long lines they are found across the borders of pieces.
func TestWhereSecretsAre(t *testing.T) {
	key, github := "AKIA"+strings.Repeat("Z7", 8), "ghp"+"_"+strings.Repeat("x", 36)
	const cloud, git, token = "a cloud provider's key", "a GitHub token", "a signed web token"
	web := "eyJ" + strings.Repeat("h", 40) + ".eyJ" + strings.Repeat("c", 2000) + "." + strings.Repeat("s", 300)
	for _, c := range []struct {
		text string
		want []secret
	}{
		{"a\n" + key + "\nb\n" + key, []secret{{2, cloud}, {4, cloud}}},
		{key + " " + key + "\n" + github, []secret{{1, cloud}, {2, git}}},
		{strings.Repeat(" ", piece-10) + key + strings.Repeat(" ", piece) + key, []secret{{1, cloud}}},
		{strings.Repeat(" ", piece-1500) + web, []secret{{1, token}}},
		{strings.Repeat(" ", 3*piece-2100) + web + "\n", []secret{{1, token}}},
	} {
		found, err := search(strings.NewReader(c.text))
		require.NoError(t, err)
		require.Equal(t, c.want, found)
	}
	found, err := search(strings.NewReader(strings.Repeat(key+"\n", 2*maxHits)))
	require.NoError(t, err)
	require.Len(t, found, maxHits)
	_, err = search(io.MultiReader(strings.NewReader(key), iotest.ErrReader(io.ErrUnexpectedEOF)))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the rest of the file was not searched")
}

func TestWhichSubmitter(t *testing.T) {
	root := tree(t)
	put(t, root, "closed/Other/x.md", "x")
	_, err := Pack(context.Background(), Options{Root: root, Output: t.TempDir()})
	require.ErrorContains(t, err, "2 submitters")
	r, err := Pack(context.Background(), Options{Root: root, Output: t.TempDir(), Submitter: "Other"})
	require.NoError(t, err)
	require.Equal(t, 2, r.Files)
	_, err = Pack(context.Background(), Options{Root: root, Output: t.TempDir(), Submitter: "Nobody"})
	require.ErrorContains(t, err, `no submitter "Nobody"`)
	_, err = Pack(context.Background(), Options{Root: t.TempDir(), Output: t.TempDir()})
	require.ErrorContains(t, err, "no submitter's folder")
	_, err = Pack(context.Background(), Options{Root: root, Output: filepath.Join(root, "out"), Submitter: "Other"})
	require.ErrorContains(t, err, "choose one outside")
}

func TestPackingStopsWithItsContext(t *testing.T) {
	ctx, end := context.WithCancelCause(context.Background())
	end(errors.New("enough"))
	out := t.TempDir()
	_, err := Pack(ctx, Options{Root: tree(t), Output: out})
	require.ErrorContains(t, err, "enough")
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// The archive contains each folder once, before its files. A file that cannot be read or written ends it.
func TestArchive(t *testing.T) {
	root, err := os.OpenRoot(tree(t))
	require.NoError(t, err)
	defer root.Close()
	ctx := context.Background()
	files, err := list(ctx, root, "Acme")
	require.NoError(t, err)
	var all bytes.Buffer
	require.NoError(t, archive(ctx, &all, root, files, ""))
	z, err := gzip.NewReader(&all)
	require.NoError(t, err)
	seen := map[string]bool{"./": true}
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.False(t, seen[h.Name], h.Name)
		require.True(t, seen[path.Dir(strings.TrimSuffix(h.Name, "/"))+"/"], h.Name)
		seen[h.Name] = true
	}
	for _, f := range files {
		require.True(t, seen[f.path], f.path)
	}

	gone := append(slices.Clone(files), file{path: "closed/Acme/gone"})
	require.ErrorContains(t, archive(ctx, io.Discard, root, gone, ""), "pack closed/Acme/gone")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for _, password := range []string{"", "p"} {
		require.ErrorIs(t, archive(ctx, full, root, files, password), syscall.ENOSPC)
	}
	ctx, end := context.WithCancelCause(ctx)
	enough := errors.New("enough")
	end(enough)
	require.ErrorIs(t, archive(ctx, io.Discard, root, files, ""), enough)
	_, err = list(ctx, root, "Acme")
	require.ErrorIs(t, err, enough, "a list that ends early is not the tree's")
}

// If a disk cuts an encrypted file short, the writer returns an error, whichever write fails.
func TestEncryptionReportsWriteErrors(t *testing.T) {
	for _, room := range []int{0, len(magic) + saltSize, len(magic) + saltSize + aes.BlockSize} {
		w, err := encrypt(&limited{room: room}, "p")
		if err == nil {
			_, err = w.Write(make([]byte, aes.BlockSize))
		}
		if err == nil {
			err = w.Close()
		}
		require.ErrorIs(t, err, io.ErrShortWrite, "room for %d bytes", room)
	}
}

// limited accepts a number of bytes, and then fails.
type limited struct{ room int }

func (l *limited) Write(p []byte) (int, error) {
	if l.room -= len(p); l.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// PKCS #7: the last block ends with 1 to 16 bytes, whose value is their number.
func TestPadding(t *testing.T) {
	key, iv := derive("p", make([]byte, saltSize))
	const mixed = 3 // the last two bytes differ
	for last, length := range map[byte]int{1: 63, 15: 49, 16: 48, 0: -1, 17: -1, 32: -1, mixed: -1} {
		block, err := aes.NewCipher(key)
		require.NoError(t, err)
		text := bytes.Repeat([]byte{last}, 64)
		if last == mixed {
			text[62]++
		}
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(text, text)
		head := magic + strings.Repeat("\x00", saltSize)
		in, err := decrypt(io.MultiReader(strings.NewReader(head), bytes.NewReader(text)), "p")
		require.NoError(t, err)
		plain, err := io.ReadAll(in)
		if length < 0 {
			require.ErrorIs(t, err, errPassword, "%d", last)
			continue
		}
		require.NoError(t, err)
		require.Len(t, plain, length)
	}
}

func TestDamagedTarballIsDetected(t *testing.T) {
	root, out := tree(t), t.TempDir()
	for _, password := range []string{"", "p"} {
		r, err := Pack(context.Background(), Options{Root: root, Output: out, Password: password})
		require.NoError(t, err)
		tree, err := os.OpenRoot(root)
		require.NoError(t, err)
		defer tree.Close()
		to, err := os.OpenRoot(out)
		require.NoError(t, err)
		defer to.Close()
		name := filepath.Base(r.Tarball)
		files, err := list(context.Background(), tree, "Acme")
		require.NoError(t, err)
		text, err := os.ReadFile(r.Tarball)
		require.NoError(t, err)
		for _, change := range []func([]byte) []byte{
			func(b []byte) []byte { return b[:len(b)/2] },
			func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
			func([]byte) []byte { return nil },
		} {
			require.NoError(t, os.WriteFile(r.Tarball, change(bytes.Clone(text)), 0o644))
			require.Error(t, compare(context.Background(), to, name, files, password))
		}
		require.NoError(t, os.WriteFile(r.Tarball, text, 0o644))
		require.Error(t, compare(context.Background(), to, name, files[1:], password), "a file too many")
		require.Error(t, compare(context.Background(), to, name, append(files, file{path: "x"}), password), "a file too few")
		require.Error(t, compare(context.Background(), to, name, files, "another"))
	}
}

func FuzzSearch(f *testing.F) {
	for _, c := range bad {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := search(bytes.NewReader(text))
		require.NoError(t, err)
		require.LessOrEqual(t, len(found), maxHits+len(patterns))
		for _, s := range found {
			require.LessOrEqual(t, s.line, bytes.Count(text, []byte("\n"))+1, fmt.Sprint(s))
		}
	})
}

func FuzzDecrypt(f *testing.F) {
	f.Add([]byte(magic + strings.Repeat("x", 40)))
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if in, err := decrypt(bytes.NewReader(sealed), "p"); err == nil {
			text, _ := io.ReadAll(in)
			require.LessOrEqual(t, len(text), len(sealed))
		}
	})
}
