package official

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

var updatePage = flag.Bool("update-page", false, "write the table of docs/reference/datasets.md anew")

const page = "../../docs/reference/datasets.md"

// tableHead is the head of the table in the page that must equal the registry.
const tableHead = "| benchmark | source | licence | files (rows) | format | size |\n" +
	"| --- | --- | --- | --- | --- | --- |\n"

// table returns a row for each benchmark with official files.
func table() string {
	var b strings.Builder
	b.WriteString(tableHead)
	for _, row := range models.Rows() {
		d := &row.Data
		if len(d.Files) == 0 {
			continue
		}
		var files, formats, sizes []string
		for _, f := range d.Files {
			files = append(files, fmt.Sprintf("`%s` (%s)", f.Name, f.Rows()))
			if len(formats) == 0 || formats[len(formats)-1] != f.Format {
				formats = append(formats, f.Format)
			}
			if len(sizes) == 0 || sizes[len(sizes)-1] != f.Size() {
				sizes = append(sizes, f.Size())
			}
		}
		fmt.Fprintf(&b, "| %s | [%s](%s) | %s | %s | %s | %s |\n", row.Name, d.From, d.URL, d.Licence,
			strings.Join(files, ", "), strings.Join(formats, ", "), strings.Join(sizes, ", "))
	}
	return b.String()
}

func TestThePageHasTheTable(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), tableHead)
	require.True(t, found, "the page has no table that begins with %q", tableHead)
	_, after, _ := strings.Cut(rest, "\n\n")
	if *updatePage {
		require.NoError(t, os.WriteFile(page, []byte(before+table()+"\n"+after), 0o644))
		return
	}
	require.Equal(t, before+table()+"\n"+after, string(text),
		"go test ./datasets/official -run TestThePage -update-page writes it anew")
}

// Without the facts about a benchmark's files, the page and the command dataset get would be incomplete.
func TestEveryBenchmarkHasOfficialFiles(t *testing.T) {
	for _, row := range models.Rows() {
		if row.Name == models.Generic {
			continue
		}
		d := &row.Data
		require.NotEmpty(t, d.From, row.Name)
		require.NotEmpty(t, d.Licence, row.Name)
		require.NotEmpty(t, d.Fetch, row.Name)
		require.Regexp(t, `^https://`, d.URL, row.Name)
		counts := map[int]bool{}
		for _, f := range d.Files {
			require.NotEmpty(t, f.Format, row.Name)
			require.Regexp(t, `^([0-9a-f]{64})?$`, f.SHA256, row.Name)
			counts[f.Samples] = true
		}
		require.True(t, counts[row.DatasetSamples] || counts[0], "%s: no file has the benchmark's rows", row.Name)
		require.True(t, row.AccuracyCount == 0 || counts[row.AccuracyCount] || counts[0],
			"%s: no file has the rows of the accuracy test", row.Name)
	}
}
