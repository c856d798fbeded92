package truncate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

const submitter = "ExampleOrg"

// tree is a submission with one accuracy log.
type tree struct {
	root, backup, dir string // dir: of the log, below root
}

func newTree(t testing.TB, test string) tree {
	t.Helper()
	dir := filepath.Join("closed", submitter, "results", "sys", "bench", "Offline", test, "accuracy")
	at := tree{t.TempDir(), filepath.Join(t.TempDir(), "backup"), dir}
	require.NoError(t, os.MkdirAll(filepath.Join(at.root, dir), 0o755))
	return at
}

func (at tree) write(t testing.TB, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(at.root, at.dir, name), []byte(text), 0o644))
}

func (at tree) read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(at.root, at.dir, name))
	require.NoError(t, err)
	return string(b)
}

// run returns the target of the tree's log.
func (at tree) run(t testing.TB) (Target, error) {
	t.Helper()
	targets, err := Tree(context.Background(), at.root, Options{Submitter: submitter, Backup: at.backup})
	for _, found := range targets {
		if found.Path == filepath.ToSlash(filepath.Join(at.dir, logName)) {
			return found, err
		}
	}
	t.Fatal("the log was not found", targets, err)
	return Target{}, nil
}

// pattern is the content of the recorded cases.
func pattern(size int) string {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte('0' + ((i*i+3*i)/7)%10)
		if i%64 == 63 {
			b[i] = '\n'
		}
	}
	return string(b)
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// hashedTwice are the cases in which the organisers' tool adds a second hash to accuracy.txt. This program refuses
// them.
var hashedTwice = map[string]bool{"hashed-10240": true, "hashed-large": true}

func TestGoldenTruncation(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(golden.Dir(t, "submission"), "truncation.json"))
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Name   string
			Size   int
			Test   string
			Before *string `json:"accuracy_txt_before"`
			After  *string `json:"accuracy_txt_after"`
			Input  string  `json:"input_sha256"`
			Output string  `json:"output_sha256"`
		}
	}
	require.NoError(t, json.Unmarshal(b, &file))
	require.NotEmpty(t, file.Cases)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			at := newTree(t, c.Test)
			input := pattern(c.Size)
			require.Equal(t, c.Input, sum(input))
			at.write(t, logName, input)
			if c.Before != nil {
				at.write(t, txtName, *c.Before)
			}
			if c.Test == "TEST06" { // not a target of this program
				_, err := Tree(context.Background(), at.root, Options{Submitter: submitter, Backup: at.backup})
				require.Error(t, err)
				require.Equal(t, c.Output, sum(at.read(t, logName)))
				return
			}
			got, err := at.run(t)
			if hashedTwice[c.Name] {
				require.ErrorContains(t, err, "already")
				require.Equal(t, Refused, got.State)
				require.Equal(t, input, at.read(t, logName))
				require.Equal(t, *c.Before, at.read(t, txtName))
				return
			}
			require.Equal(t, c.Output, sum(at.read(t, logName)))
			if c.After == nil {
				require.NoFileExists(t, filepath.Join(at.root, at.dir, txtName))
				require.ErrorContains(t, err, "score the log before truncating it")
				return
			}
			require.Equal(t, *c.After, at.read(t, txtName))
			if got.State == Truncated {
				require.Equal(t, c.Input, got.SHA256)
				kept, err := os.ReadFile(filepath.Join(at.backup, at.dir, logName))
				require.NoError(t, err)
				require.Equal(t, input, string(kept))
			}
		})
	}
}

// However often it is called, the hash is that of the whole log and occurs once.
func TestIsDoneOnce(t *testing.T) {
	for _, test := range []string{"", "TEST07", "TEST09"} {
		for _, size := range []int{0, 1, 4095, 4096, 9000, 10239, 10240, 30000} {
			at := newTree(t, test)
			input := pattern(size)
			at.write(t, logName, input)
			if test == "" {
				at.write(t, txtName, "{'rouge1': 1.0}\n")
				require.Equal(t, "", layout.TruncationHash([]byte(at.read(t, txtName))))
			}
			for i := range 3 {
				got, _ := at.run(t)
				require.Equal(t, []State{Truncated, Hashed, Hashed}[i], got.State, got.Reason)
				if i == 0 {
					require.EqualValues(t, size, got.Before)
				}
				require.EqualValues(t, len(at.read(t, logName)), got.After)
				require.Equal(t, 1, strings.Count(at.read(t, txtName), "hash="))
				require.Equal(t, sum(input), layout.TruncationHash([]byte(at.read(t, txtName))))
			}
		}
	}
}

// A scorer's own hash, which qwen3-vl's reference prints below its scores, does not mark a log as truncated.
func TestAScorersHashIsNoMark(t *testing.T) {
	const scores = `{"f1": 0.7824}`
	for _, size := range []int{100, 9000, 30000} {
		at := newTree(t, "")
		input := pattern(size)
		at.write(t, logName, input)
		text := scores + "\n\nhash=" + sum(scores)
		at.write(t, txtName, text)
		for i := range 2 {
			got, err := at.run(t)
			require.NoError(t, err)
			require.Equal(t, []State{Truncated, Hashed}[i], got.State)
			require.Equal(t, text+"\nhash="+sum(input)+"\n", at.read(t, txtName))
		}
	}
}

// After a crash between two steps, the next call has the same result as an undisturbed one.
func TestContinuesAfterACrash(t *testing.T) {
	input := pattern(30000)
	finished := newTree(t, "")
	finished.write(t, logName, input)
	finished.write(t, txtName, "scores\n")
	_, err := finished.run(t)
	require.NoError(t, err)

	for name, leave := range map[string]func(at tree){
		"after half of a copy": func(at tree) {
			require.NoError(t, os.MkdirAll(filepath.Join(at.backup, at.dir), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(at.backup, at.dir, logName+".tmp"), []byte(input[:100]), 0o644))
		},
		"after the copy": func(at tree) {
			require.NoError(t, os.MkdirAll(filepath.Join(at.backup, at.dir), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(at.backup, at.dir, logName), []byte(input), 0o644))
		},
		"after the hash": func(at tree) { at.write(t, txtName, "scores\n\nhash="+sum(input)+"\n") },
	} {
		t.Run(name, func(t *testing.T) {
			at := newTree(t, "")
			at.write(t, logName, input)
			at.write(t, txtName, "scores\n")
			leave(at)
			_, err := at.run(t)
			require.NoError(t, err)
			require.Equal(t, finished.read(t, logName), at.read(t, logName))
			require.Equal(t, finished.read(t, txtName), at.read(t, txtName))
			kept, err := os.ReadFile(filepath.Join(at.backup, at.dir, logName))
			require.NoError(t, err)
			require.Equal(t, input, string(kept))
		})
	}
}

func TestRefuses(t *testing.T) {
	long := pattern(30000)
	for name, c := range map[string]struct {
		prepare func(t *testing.T, at *tree)
		text    string
	}{
		"no scores": {func(t *testing.T, at *tree) { at.write(t, logName, long) }, "score the log before truncating it"},
		"a link for a log": {func(t *testing.T, at *tree) {
			require.NoError(t, os.Symlink("/dev/zero", filepath.Join(at.root, at.dir, logName)))
		}, "a symbolic link, which is not followed here"},
		"a replaced log": {func(t *testing.T, at *tree) {
			at.write(t, logName, long)
			at.write(t, txtName, "hash=ab12\n")
		}, "the log was replaced after truncation"},
		"no log of LoadGen's": {func(t *testing.T, at *tree) {
			at.write(t, logName, "\x80"+long)
			at.write(t, txtName, "x\n")
		}, "unexpected byte 0: not a LoadGen accuracy log"},
		"another backup": {func(t *testing.T, at *tree) {
			at.write(t, logName, long)
			at.write(t, txtName, "x\n")
			require.NoError(t, os.MkdirAll(filepath.Join(at.backup, at.dir), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(at.backup, at.dir, logName), []byte("other"), 0o644))
		}, "use a separate backup folder"},
		"a backup that cannot be created": {func(t *testing.T, at *tree) {
			at.write(t, logName, long)
			at.write(t, txtName, "x\n")
			at.backup = filepath.Join(t.TempDir(), "file")
			require.NoError(t, os.WriteFile(at.backup, nil, 0o644))
		}, "create the backup folder"},
	} {
		t.Run(name, func(t *testing.T) {
			at := newTree(t, "")
			c.prepare(t, &at)
			before, _ := os.ReadFile(filepath.Join(at.root, at.dir, txtName))
			got, err := at.run(t)
			require.ErrorContains(t, err, c.text)
			require.Equal(t, Refused, got.State)
			require.Contains(t, got.Reason, c.text)
			after, _ := os.ReadFile(filepath.Join(at.root, at.dir, txtName))
			require.Equal(t, string(before), string(after))
		})
	}
}

func TestInvalidOptions(t *testing.T) {
	at := newTree(t, "")
	at.write(t, logName, "[]")
	at.write(t, txtName, "x\n")
	for text, o := range map[string]Options{
		"invalid submitter":             {Submitter: "../other", Backup: at.backup},
		"no backup folder given":        {Submitter: submitter},
		"is inside the tree":            {Submitter: submitter, Backup: filepath.Join(at.root, "new", "backup")},
		`of submitter "Somebody" found`: {Submitter: "Somebody", Backup: at.backup},
	} {
		_, err := Tree(context.Background(), at.root, o)
		require.ErrorContains(t, err, text)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	_, err := Tree(ended, at.root, Options{Submitter: submitter, Backup: at.backup})
	require.ErrorIs(t, err, context.Canceled)

	targets, err := Tree(context.Background(), at.root,
		Options{Submitter: submitter, Backup: at.backup, Skip: []string{"Offline"}})
	require.Empty(t, targets)
	require.Error(t, err)
}

// A result of another client has a config.yaml and no log: it is skipped without an error.
func TestAnotherClientsResultIsLeftAlone(t *testing.T) {
	at := newTree(t, "")
	at.write(t, logName, "[]")
	at.write(t, txtName, "x\n")
	other := filepath.Join(at.root, "closed", submitter, "results", "sys", "bench", "Server")
	require.NoError(t, os.MkdirAll(filepath.Join(other, "accuracy"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(other, "config.yaml"), nil, 0o644))
	targets, err := Tree(context.Background(), at.root, Options{Submitter: submitter, Backup: at.backup})
	require.NoError(t, err)
	require.Len(t, targets, 1)
}
