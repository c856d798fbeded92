package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mutation is one change of the recorded base tree.
type mutation struct {
	Op, Path, From, To, Text, Old, New, Key string
	Size                                    int64
	Value                                   json.RawMessage
	IsError                                 bool `json:"is_error"`
}

// recorded is one case of the recorded verdicts.
type recorded struct {
	Name, Version, Note string
	Flags               []string
	Mutation            []mutation
	Expect              struct {
		ExitCode int `json:"exit_code"`
		Messages []struct{ Level, Text string }
		Summary  []string
		Results  []string
		Crash    string
		Rows     []string `json:"csv_rows"`
	}
	Strict *string
}

func cases(t testing.TB) []recorded {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(golden.Dir(t, "submission"), "mutations.json"))
	require.NoError(t, err)
	var all []recorded
	require.NoError(t, json.Unmarshal(b, &all))
	require.NotEmpty(t, all)
	return all
}

// baseTree copies the recorded passing tree into a new folder.
func baseTree(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	copyTree(t, filepath.Join(golden.Dir(t, "submission"), "base"), root)
	return root
}

func copyTree(t testing.TB, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		rel, err := filepath.Rel(from, name)
		require.NoError(t, err)
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o755))
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	}))
}

func (m mutation) apply(t testing.TB, root string) {
	t.Helper()
	at := func(p string) string { return filepath.Join(root, filepath.FromSlash(p)) }
	name := at(m.Path)
	edit := func(change func([]byte) []byte) {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, change(b), 0o644))
	}
	switch m.Op {
	case "delete":
		require.NoError(t, os.RemoveAll(name))
	case "rename":
		require.NoError(t, os.Rename(at(m.From), at(m.To)))
	case "copy":
		info, err := os.Stat(at(m.From))
		require.NoError(t, err)
		if info.IsDir() {
			copyTree(t, at(m.From), at(m.To))
			return
		}
		b, err := os.ReadFile(at(m.From))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(at(m.To), b, 0o644))
	case "mkdir":
		require.NoError(t, os.MkdirAll(name, 0o755))
	case "write":
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(m.Text), 0o644))
	case "append":
		edit(func(b []byte) []byte { return append(b, m.Text...) })
	case "replace":
		edit(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(m.Old), []byte(m.New)) })
	case "fill": // the content does not matter, so the file may be a hole
		require.NoError(t, os.WriteFile(name, nil, 0o644))
		require.NoError(t, os.Truncate(name, m.Size))
	case "json_set", "json_delete":
		edit(m.editJSON(t))
	case "log_set", "log_delete", "log_add":
		edit(m.editLog(t))
	default:
		t.Fatal("unknown mutation", m.Op)
	}
}

func (m mutation) editJSON(t testing.TB) func([]byte) []byte {
	return func(b []byte) []byte {
		var o map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(b, &o))
		if delete(o, m.Key); m.Op == "json_set" {
			o[m.Key] = m.Value
		}
		b, err := json.Marshal(o)
		require.NoError(t, err)
		return b
	}
}

func (m mutation) editLog(t testing.TB) func([]byte) []byte {
	const before, between = `:::MLLOG {"key": "`, `", "value": `
	return func(b []byte) []byte {
		var out strings.Builder
		for line := range strings.Lines(string(b)) {
			start := before + m.Key + between
			if m.Op == "log_add" || !strings.HasPrefix(line, start) {
				out.WriteString(line)
				continue
			}
			if m.Op == "log_set" {
				end := strings.LastIndex(line, `, "time_ms": `)
				require.Positive(t, end)
				out.WriteString(start + string(m.Value) + line[end:])
			}
		}
		if m.Op == "log_add" {
			fmt.Fprintf(&out, `%s%s%s%s, "time_ms": 1.0, "namespace": "mlperf::logging", "event_type": "POINT_IN_TIME", "metadata": {"is_error": %t, "is_warning": false, "file": "x.cc", "line_no": 1, "pid": 1, "tid": 1}}`+"\n",
				before, m.Key, between, m.Value, m.IsError)
		}
		return []byte(out.String())
	}
}

// tree makes the case's tree.
func (c recorded) tree(t testing.TB) string {
	t.Helper()
	root := baseTree(t)
	for _, m := range c.Mutation {
		m.apply(t, root)
	}
	return root
}

func (c recorded) options(t testing.TB, mode Mode) Options {
	t.Helper()
	o := Options{Round: c.Version, Mode: mode, Location: "."}
	for _, f := range c.Flags {
		switch f {
		case "--submission-exceptions":
			o.SubmissionExceptions = true
		case "--skip-meaningful-fields-emptiness-check":
			o.SkipEmptyFields = true
		case "--skip_compliance": // has no effect in the official checker
		default:
			t.Fatal("unknown flag", f)
		}
	}
	return o
}
