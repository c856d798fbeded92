package catalog

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/dialect"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

var update = flag.Bool("update", false, "write the tables of docs/reference/predefined-profiles.md anew")

const (
	page = "../../docs/reference/predefined-profiles.md"
	head = "## Use cases\n"
)

// tables returns the generated part of the page.
func tables(t *testing.T) string {
	var b strings.Builder
	b.WriteString(head + "\nThe tables of this page are generated from the profiles.\n\n")
	b.WriteString("| `use_case` | workload | ISL | ISV | OSL | OSV | OSP | goal | profiles |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	all := All()
	read := map[string]*profile.Profile{}
	for _, f := range all {
		p, err := f.Read(dialect.Options{})
		require.NoError(t, err)
		read[f.Path] = p
	}
	for _, u := range UseCases() {
		var names []string
		for _, f := range all {
			if read[f.Path].UseCase == u.ID {
				names = append(names, "`"+f.Name+"`")
			}
		}
		workload := u.Workload
		if u.Example != "" {
			workload += ": " + u.Example
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n", u.ID, workload, u.ISL, cmp.Or(u.ISV, "-"),
			u.OSL, u.OSV, u.OSP, u.Goal, strings.Join(names, ", "))
	}
	harness := ""
	for _, f := range all {
		if f.Harness != harness {
			harness = f.Harness
			fmt.Fprintf(&b, "\n## %s\n\n| profile | load | data | API | |\n| --- | --- | --- | --- | --- |\n", harness)
		}
		p := read[f.Path]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, p.Load.Summary(), p.Data.Summary(), p.API.Kind,
			p.Description)
	}
	return b.String()
}

func TestThePageListsEveryProfile(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, _, found := strings.Cut(string(text), head)
	require.True(t, found, "the page lacks the chapter of the use cases")
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+tables(t)), 0o644))
		return
	}
	require.Equal(t, before+tables(t), string(text),
		"go test ./workload/catalog -run TestThePage -update writes it anew")
}
