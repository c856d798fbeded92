package datasets

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkOpen(b *testing.B) {
	const rows = 2000
	var file bytes.Buffer
	require.NoError(b, SynthSet{Row: llamaRow, Samples: rows, Seed: 1}.Write(&file))
	for name, content := range map[string][]byte{"plain": file.Bytes(), "gzip": gzipped(b, file.Bytes()),
		"zstd": zstded(b, file.Bytes())} {
		b.Run(name, func(b *testing.B) {
			path := b.TempDir() + "/set"
			require.NoError(b, os.WriteFile(path, content, 0o644))
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			for b.Loop() {
				d, err := Open(path, ForRow(llamaRow))
				require.NoError(b, err)
				require.Len(b, d.Samples, rows)
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkSynth(b *testing.B) {
	for b.Loop() {
		_, err := Synth(llamaRow, 512, 1)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(512*b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkEncode(b *testing.B) {
	text := SynthVocabulary().Decode(mustSynth(b)[0].InputIDs)
	b.SetBytes(int64(len(text)))
	var ids []int32
	for b.Loop() {
		ids = SynthVocabulary().AppendIDs(ids[:0], text)
	}
}

func mustSynth(b *testing.B) []SynthRecord {
	b.Helper()
	records, err := Synth(llamaRow, 1, 1)
	require.NoError(b, err)
	return records
}
