package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inTime fails if the check hangs.
func inTime(t *testing.T, root string) *Report {
	t.Helper()
	ctx, end := context.WithTimeout(context.Background(), 5*time.Minute)
	defer end()
	r, err := Check(ctx, root, Options{})
	require.NoError(t, err)
	require.NoError(t, r.Text(io.Discard))
	return r
}

// Reading a pipe would never end, so pipes are rejected and not opened.
func TestPipesInPlaceOfFiles(t *testing.T) {
	root := baseTree(t)
	var made []string
	require.NoError(t, filepath.WalkDir(root, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			made = append(made, name)
		}
		return err
	}))
	for _, name := range made {
		require.NoError(t, os.Remove(name))
		require.NoError(t, syscall.Mkfifo(name, 0o644))
	}
	r := inTime(t, root)
	require.False(t, r.Valid)
	require.Contains(t, ruleIDs(r), "system-json")
	require.Contains(t, ruleIDs(r), "performance-log")
	require.Contains(t, ruleIDs(r), "scores")
}

func TestLinkCycles(t *testing.T) {
	root := baseTree(t)
	for link, to := range map[string]string{
		"closed/Again":          "../closed",
		"closed/ExampleOrg/me":  ".",
		home + "results/again":  "../results",
		bench + "Again":         "../llama3.1-8b",
		bench + "Offline/again": "../Offline",
		home + "src/self":       "self",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, link)))
	}
	r := inTime(t, root)
	require.False(t, r.Valid)
	require.Contains(t, fmt.Sprint(r.Findings), "a broken link")
}

// Links that multiply at every level reach the limit on folders.
func TestLinksThatMultiply(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "closed", "x", "results")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for i := range 28 {
		require.NoError(t, os.Symlink(".", filepath.Join(dir, fmt.Sprint(i))))
	}
	c, err := newChecker(root, Options{Mode: Compat})
	require.NoError(t, err)
	top := c.walk()
	top.apply(rules)
	require.Equal(t, "too-many-folders", top.findings[0].Rule)
}

// The folders of a tree are counted up to the limit, which is named if it is exceeded.
func TestFoldersAreCounted(t *testing.T) {
	c, err := newChecker(baseTree(t), Options{Mode: Compat})
	require.NoError(t, err)
	top := c.walk()
	top.apply(rules)
	require.Empty(t, top.findings)
	require.Equal(t, 5, c.places, "a submitter, a system, a benchmark and two scenarios")
	c.places = maxFolders - 1
	require.True(t, c.room())
	top.apply(rules)
	require.Empty(t, top.findings)
	require.False(t, c.room())
	top.apply(rules)
	require.Equal(t, "too-many-folders", top.findings[0].Rule)
	require.Contains(t, top.findings[0].Found, "more than 20000 submitters, systems, benchmarks and scenarios")
}

// A line of an audit's text may be longer than most, and a value in a finding at most 400 bytes long.
func TestLongLinesAndValues(t *testing.T) {
	root := t.TempDir()
	f, err := openFiles(root)
	require.NoError(t, err)
	t.Cleanup(f.close)
	for length, fits := range map[int]bool{100_000: true, maxScoreLine: false} {
		text := strings.Repeat("x", length) + "\n TEST PASS\n"
		require.NoError(t, os.WriteFile(filepath.Join(root, "a"), []byte(text), 0o600))
		seen, err := audit{words: "TEST PASS"}.linesIn(&f, "a")
		require.Equal(t, fits, err == nil, length)
		require.Equal(t, fits, seen["TEST PASS"], length)
	}
	for length, want := range map[int]string{400: strings.Repeat("x", 400),
		401: `"` + strings.Repeat("x", 400) + `"... (401 bytes)`} {
		require.Equal(t, want, shown(strings.Repeat("x", length)))
	}
	require.Equal(t, `"\x1b"`, shown("\x1b"))
	require.Empty(t, shown(nil))
}

// A document is read up to its limit.
func TestDocumentsAreBounded(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a"), []byte("12345"), 0o600))
	f, err := openFiles(root)
	require.NoError(t, err)
	t.Cleanup(f.close)
	for limit, fits := range map[int64]bool{5: true, 4: false} {
		_, err := f.read("a", limit)
		require.Equal(t, fits, err == nil, limit)
	}
}

// At most 20,000 links of a tree are followed.
func TestLinksAreCounted(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.Symlink(".", filepath.Join(root, name)))
	}
	f, err := openFiles(root)
	require.NoError(t, err)
	t.Cleanup(f.close)
	f.links.Store(19_998)
	require.NoError(t, f.list(".").err)
	f.links.Store(19_999)
	require.EqualError(t, f.list(".").err, "the tree has more than 20000 links")
}

func TestDeepFolders(t *testing.T) {
	root := baseTree(t)
	for depth, want := range map[int]string{maxDepth - 3: "an empty folder", 1200: "it lies more than 200 folders deep"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, home, "src", fmt.Sprint(depth), strings.Repeat("d/", depth)),
			0o755))
		require.Contains(t, fmt.Sprint(inTime(t, root).Findings), want)
	}
}

func TestManyBreachesOfOneRule(t *testing.T) {
	root := baseTree(t)
	hide := func(i int) {
		require.NoError(t, os.WriteFile(filepath.Join(root, home, "src", fmt.Sprintf(".%d", i)), nil, 0o644))
	}
	for i := range maxBreaches {
		hide(i)
	}
	require.Len(t, inTime(t, root).Findings, maxBreaches)
	for i := range 300 {
		hide(i)
	}
	r := inTime(t, root)
	require.Len(t, r.Findings, maxBreaches+1)
	require.Equal(t, "250 more of these", r.Findings[maxBreaches].Found)
}

// File contents with control characters do not reach the terminal.
func TestFindingsArePrintable(t *testing.T) {
	root := baseTree(t)
	change("json_set", sut, "status", `"\u001b[2Jred"`).apply(t, root)
	odd := filepath.Join(root, "closed", "ExampleOrg", "src", "a\x1b[1m b\xff\n")
	require.NoError(t, os.WriteFile(odd, nil, 0o644))
	var b bytes.Buffer
	require.NoError(t, inTime(t, root).Text(&b))
	require.NotContains(t, b.String(), "\x1b")
	require.Contains(t, b.String(), `found "\x1b[2Jred"`)
}

func TestInvalidOptions(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for text, try := range map[string]struct {
		root string
		o    Options
	}{
		`unknown round "v9.9": use one of v5.1, v6.0, v6.1`:        {root, Options{Round: "v9.9"}},
		`unknown mode "lax": use strict or compat`:                 {root, Options{Mode: "lax"}},
		"is not a folder; pass the folder that contains closed":    {file, Options{}},
		"no such file or directory; pass the folder that contains": {filepath.Join(root, "absent"), Options{}},
	} {
		_, err := Check(context.Background(), try.root, try.o)
		require.ErrorContains(t, err, text)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	_, err := Check(ended, root, Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// files returns the tree's files below its root, sorted.
func filesOf(t testing.TB, root string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(root, func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, relErr := filepath.Rel(root, name)
			require.NoError(t, relErr)
			names = append(names, rel)
		}
		return err
	}))
	slices.Sort(names)
	return names
}

// seeds are whole files by the ending of the file that they replace.
var seeds = map[string][]string{
	".json": {"", "[]", `{"a":1e999,"b":[[[[`, strings.Repeat("[", 20000),
		`{"accuracy_scores":[1,{"score":1},{"score":{"x":{}}}]}`},
	".txt":  {"", "\x00\xff\xfe", ":::MLLOG {", "hash=\n'rouge1': ...\r\r"},
	".yaml": {"a: &a [*a,*a]\nb: *a", "[", "- 1"},
	".conf": {""},
}

// FuzzTree puts odd bytes into each file of two trees, LoadGen's and another client's. Nothing panics, every report can
// be written, and the official rules accept whatever the strict ones accept.
func FuzzTree(f *testing.F) {
	roots := []string{baseTree(f), recordedCase(f, "endpoints-ok", nil).tree(f)}
	names := [][]string{filesOf(f, roots[0]), filesOf(f, roots[1])}
	for tree := range roots {
		for i := range names[tree] {
			for _, data := range seeds[filepath.Ext(names[tree][i])] {
				f.Add(uint8(tree), uint8(i), uint8(0), uint16(0), []byte(data))
			}
			f.Add(uint8(tree), uint8(i), uint8(1), uint16(700), []byte{})
			f.Add(uint8(tree), uint8(i), uint8(2), uint16(300), []byte("-nan\"\n"))
		}
	}
	f.Fuzz(func(t *testing.T, tree, file, how uint8, at uint16, data []byte) {
		root := roots[int(tree)%len(roots)]
		list := names[int(tree)%len(roots)]
		name := filepath.Join(root, list[int(file)%len(list)])
		before, err := os.ReadFile(name)
		require.NoError(t, err)
		cut := min(int(at), len(before))
		switch how % 3 {
		case 1:
			data = before[:cut]
		case 2:
			data = slices.Concat(before[:cut], data, before[cut:])
		}
		require.NoError(t, os.WriteFile(name, data, 0o644))
		defer func() { require.NoError(t, os.WriteFile(name, before, 0o644)) }()
		requireReports(t, root)
	})
}

func requireReports(t *testing.T, root string) {
	t.Helper()
	strict, err := Check(context.Background(), root, Options{})
	require.NoError(t, err)
	compat, err := Check(context.Background(), root, Options{Mode: Compat})
	require.NoError(t, err)
	require.True(t, compat.Valid || !strict.Valid, "%v", compat.Findings)
	for _, r := range []*Report{strict, compat} {
		require.NoError(t, r.Text(io.Discard))
		require.NoError(t, r.JSON(io.Discard))
		require.NoError(t, r.CSV(io.Discard))
		require.NoError(t, r.FinalReport(io.Discard, FinalOptions{IDs: map[string]int{}}))
	}
}

// A check that was cancelled reads no log to its end.
func TestACancelledCheckReadsNoLog(t *testing.T) {
	root := t.TempDir()
	line := `:::MLLOG {"key": "generic_message", "value": "x", "time_ms": 1.5, "namespace": "mlperf::logging", ` +
		`"event_type": "POINT_IN_TIME", "metadata": {"is_error": false, "is_warning": false, "file": "a.cc", ` +
		`"line_no": 1, "pid": 1, "tid": 2}}` + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "log.txt"), []byte(strings.Repeat(line, 3)), 0o644))
	c, err := newChecker(root, Options{Mode: Compat})
	require.NoError(t, err)
	require.NoError(t, c.readDetail(t.Context(), "log.txt").err)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	require.ErrorIs(t, c.readDetail(ctx, "log.txt").err, stopped)
}
