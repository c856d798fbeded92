package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// BenchmarkBodies prepares requests of 1.2 KB, and copies each body after 1,024 others were prepared. The loop that
// sends the requests of users does the same.
func BenchmarkBodies(b *testing.B) {
	text := strings.Repeat("some text ", 120)
	var rows strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&rows, "{\"prompt\":\"%d %s\"}\n", i, text)
	}
	path := filepath.Join(b.TempDir(), "texts.jsonl")
	require.NoError(b, os.WriteFile(path, []byte(rows.String()), 0o600))
	for name, data := range map[string]profile.Data{
		"one text":    {Kind: profile.Fixed, Text: text, Output: profile.FixedAt(8)},
		"5,000 texts": {Kind: profile.Prompts, Path: path, Output: profile.FixedAt(8)},
	} {
		b.Run(name, func(b *testing.B) {
			p := profileOf()
			p.API.Kind, p.Data = "completions", data
			src, err := prompts.Open(p, prompts.Options{})
			require.NoError(b, err)
			d, err := backends.Lookup("openai")
			require.NoError(b, err)
			encoder, err := NewEncoder(p, d, &backends.Config{RequestOptions: backends.RequestOptions{API: p.API.Kind,
				ServedModel: "m"}})
			require.NoError(b, err)
			m, sent := newMaker(&Engine{Profile: p, Source: src, Encoder: encoder}), make([]byte, 2<<10)
			var ahead [aheadOfUsers]*slot
			n := 0
			for b.Loop() {
				s, err := m.prepare(n, 0, n, nil)
				if err != nil {
					b.Fatal(err)
				}
				if before := ahead[n%aheadOfUsers]; before != nil {
					copy(sent, before.body)
					m.table.put(before)
				}
				ahead[n%aheadOfUsers] = s
				n++
			}
		})
	}
}
