package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/needs"
)

func TestNeedsFitTheTerminal(t *testing.T) {
	long := strings.Repeat("word ", 60)
	var out strings.Builder
	writeNeeds(page{to: &out, width: 80}, needs.Table{
		{Name: "server", State: needs.OK, Found: "vllm"},
		{Name: "open files", State: needs.NotNeeded, Found: long, Do: "Raise the limit " + long},
		{Name: "tokenizer", State: needs.Missing, Found: "evil\x1b[2J\n text"},
	})
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Equal(t, "needs       state    found", lines[0])
	require.Equal(t, `tokenizer   missing  evil\u001b[2J\u000a text`, lines[1], "what is missing comes first")
	require.Equal(t, "server      ok       vllm", lines[2])
	require.Contains(t, out.String(), "\n                     Raise the limit word")
	for _, l := range lines {
		require.LessOrEqual(t, len(l), 80, l)
		require.NotContains(t, l, "\x1b", "no text of a server reaches the terminal as it is")
	}
}
