package contract

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of docs/reference/workload-contract.md anew")

const (
	root     = "../.."
	page     = root + "/docs/reference/workload-contract.md"
	tableTop = "| flag | variables | default | place | meaning |\n| --- | --- | --- | --- | --- |\n"
)

// table returns the settings in the page's form.
func table() string {
	var b strings.Builder
	b.WriteString(tableTop)
	for _, s := range Settings() {
		name := ""
		if s.Flag != "" {
			name = "`--" + s.Flag + "`"
		}
		if s.Short != "" {
			name += ", `-" + s.Short + "`"
		}
		variables := make([]string, len(s.Variables))
		for i, v := range s.Variables {
			variables[i] = "`" + v + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, strings.Join(variables, ", "), s.Default, s.Place, s.Usage)
	}
	return b.String()
}

// TestThePageIsUpToDate compares the end of the page with the settings.
func TestThePageIsUpToDate(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, got, _ := strings.Cut(string(text), tableTop)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+table()), 0o644))
		got = strings.TrimPrefix(table(), tableTop)
	}
	require.Equal(t, table(), tableTop+got, "go test ./workload/contract -run TestThePage -update writes it anew")
}

var (
	testOf   = regexp.MustCompile("`([a-z0-9/-]+)` (Test[A-Za-z0-9]+)")
	scriptOf = regexp.MustCompile("`([a-z0-9_]+\\.txtar)`")
)

// Every test and script on the page exists, and each row names one unless its feature is absent.
func TestThePageNamesTests(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, _, _ := strings.Cut(string(text), tableTop)
	rows := 0
	for _, line := range strings.Split(before, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.Contains(line, "| shown by |") {
			continue
		}
		rows++
		tests, scripts := testOf.FindAllStringSubmatch(line, -1), scriptOf.FindAllStringSubmatch(line, -1)
		if len(tests)+len(scripts) == 0 {
			require.Regexp(t, `\| not (here|needed)[^|]*\| \|$`, line, "no test shows it")
		}
		for _, m := range tests {
			require.True(t, hasTest(t, m[1], m[2]), "%s has no %s", m[1], m[2])
		}
		for _, m := range scripts {
			require.FileExists(t, filepath.Join(root, "cmd/mlperf-go/testdata/script", m[1]))
		}
	}
	require.Greater(t, rows, 50)
}

// clusterRows is the page's number of numbered rows of each kind about runs in a cluster.
var clusterRows = map[string]int{"object": 12, "change": 7, "local": 2, "stage": 17, "class": 8, "need": 9, "test": 4}

// TestThePageHasEveryRowOfTheCluster finds each numbered row once.
func TestThePageHasEveryRowOfTheCluster(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	found := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z]+ [0-9]+): `).FindAllStringSubmatch(string(text), -1) {
		found[m[1]]++
	}
	want := map[string]int{}
	for kind, n := range clusterRows {
		for i := range n {
			want[fmt.Sprintf("%s %d", kind, i+1)] = 1
		}
	}
	require.Equal(t, want, found)
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		if strings.Contains(string(text), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
