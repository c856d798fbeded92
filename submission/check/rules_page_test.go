package check

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateRules = flag.Bool("update-rules", false, "write the table of docs/reference/checks.md anew")

// The table at the end of docs/reference/checks.md lists every rule as the program has it.
func TestRulesPageIsUpToDate(t *testing.T) {
	const page, head = "../../docs/reference/checks.md",
		"| rule | rules | finding | what to do |\n| --- | --- | --- | --- |\n"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, got, found := strings.Cut(string(text), head)
	require.True(t, found)
	var want strings.Builder
	for _, r := range Rules() {
		rules := "official"
		if r.Strict {
			rules = "strict"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s, %s | %s |\n", r.ID, rules, r.Severity, r.Class, r.Advice)
	}
	if *updateRules {
		require.NoError(t, os.WriteFile(page, []byte(before+head+want.String()), 0o644))
		got = want.String()
	}
	require.Equal(t, want.String(), got, "go test ./submission/check -run TestRulesPage -update-rules writes it anew")
}
