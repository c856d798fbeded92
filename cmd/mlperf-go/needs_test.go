package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/needs"
)

func TestNeedsFitTheTerminal(t *testing.T) {
	long := strings.Repeat("word ", 60)
	var out strings.Builder
	writeNeeds(page{to: &out, width: 80}, needs.Table{
		{Name: "server", State: needs.OK, Found: "vllm"},
		{Name: "open files", State: needs.NotNeeded, Found: long, Do: "Raise the limit " + long},
		{Name: "tokenizer", State: needs.Missing, Found: "evil\x1b[2J\n text"},
		{Name: "rehearsal", State: needs.Warning, Found: "cannot be submitted:", List: []string{"short", "small"}},
	}, nil)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Equal(t, "needs       state    found", lines[0])
	require.Equal(t, `tokenizer   missing  evil\u001b[2J\u000a text`, lines[1], "what is missing comes first")
	require.Equal(t, "server      ok       vllm", lines[2])
	require.Contains(t, out.String(), "\n                     Raise the limit word")
	require.Contains(t, out.String(), "warning  cannot be submitted:\n"+
		"                     - short\n                     - small\n")
	for _, l := range lines {
		require.LessOrEqual(t, len(l), 80, l)
		require.NotContains(t, l, "\x1b", "no text of a server reaches the terminal as it is")
	}
}

// The error that ends a command is printed by itself, and its row refers to it.
func TestNeedsReferToTheError(t *testing.T) {
	gone := exit.Environment(exit.CodeEndpoint, "Start it", "no answer")
	var out strings.Builder
	writeNeeds(page{to: &out}, needs.Table{
		{Name: "model", State: needs.Unknown, Found: "not asked"},
		{Name: "server", State: needs.Missing, Found: "no answer", Do: "Start it", Err: gone},
		{Name: "disk", State: needs.Missing, Found: "full", Do: "Free it", Err: gone},
	}, gone)
	require.Equal(t, "needs   state    found\nserver  missing  see the error below\ndisk    missing  full\n"+
		"                 Free it\nmodel   unknown  not asked\n", out.String())
}
