package datasets

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

func TestSynthetic(t *testing.T) {
	for _, row := range models.Rows() {
		var file bytes.Buffer
		require.NoError(t, WriteSynth(&file, row, 100, 7))
		d, err := Open(writeFile(t, "synth", file.Bytes()), ForRow(row))
		require.NoError(t, err)
		require.True(t, Synthetic(d), row.Name)
		d.Samples[3].InputIDs = append(d.Samples[3].InputIDs, 15339) // a word of a real vocabulary
		require.False(t, Synthetic(d), row.Name)
	}
	text, err := New([]Sample{{Input: "a prompt without ids"}}, Options{})
	require.NoError(t, err)
	require.False(t, Synthetic(text))
}
