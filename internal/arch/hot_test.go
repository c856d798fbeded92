package arch

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// theWay lists the folders through which a query and its answer pass.
var theWay = []string{"loadgen-cgo", "sut", "qsl", "backends", "ledger", "workload"}

// hotMark matches the beginning of a file of the hot path: its first comment, after the build tag if there is one.
var hotMark = regexp.MustCompile(`\A(?://go:build [^\n]*\n\n)?// HOT PATH: ((?:[^\n]*\n//)*[^\n]*)\n`)

// hotFiles returns the first comment of each file of the hot path.
func hotFiles(t *testing.T) map[string]string {
	t.Helper()
	hot := map[string]string{}
	for _, folder := range theWay {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, d fs.DirEntry, err error) error {
			ext := filepath.Ext(path)
			if err != nil || d.IsDir() || ext != ".go" && ext != ".cc" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, filepath.Join("..", "..")+string(filepath.Separator)))
			if m := hotMark.FindSubmatch(text); m != nil {
				hot[name] = string(m[1])
			} else if !strings.HasSuffix(path, "_test.go") &&
				bytes.Contains(bytes.ToUpper(text[:min(len(text), 200)]), []byte("// HOT PATH")) {
				t.Errorf("%s: what says that it is hot stands first and begins with \"// HOT PATH: \"", name)
			}
			return nil
		})
		require.NoError(t, err)
	}
	return hot
}

// The page lists the files of the hot path, and the first comment of each file states what the file must not do.
func TestThePageListsTheHotPath(t *testing.T) {
	page, err := os.ReadFile("../../docs/explanation/architecture.md")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(page), "**The hot path** is in these files")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "\n## ")
	listed := regexp.MustCompile("`([a-z0-9/_-]+\\.(?:go|cc))`").FindAllStringSubmatch(list, -1)
	names := []string{}
	for _, m := range listed {
		names = append(names, m[1])
	}
	slices.Sort(names)
	hot := hotFiles(t)
	marked := []string{}
	for name, comment := range hot {
		marked = append(marked, name)
		require.Regexp(t, `(^|[ ,;.])([Nn]o|may not|none may) `, comment, "%s does not say what it may not do", name)
	}
	slices.Sort(marked)
	require.Equal(t, marked, names)
}
