package datasets

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

func TestSynthetic(t *testing.T) {
	for _, name := range []string{"llama3.1-8b", "generic"} {
		m, err := models.Find(name)
		require.NoError(t, err)
		d, err := SynthDataset(m.Row, 100, 7)
		require.NoError(t, err)
		require.True(t, Synthetic(d), name)
		d.Samples[3].InputIDs = append(d.Samples[3].InputIDs, 15339) // a word of a real vocabulary
		require.False(t, Synthetic(d), name)
	}
	text, err := New([]Sample{{Input: "a prompt without ids"}}, Options{})
	require.NoError(t, err)
	require.False(t, Synthetic(text))
}
