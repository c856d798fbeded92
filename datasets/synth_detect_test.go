package datasets

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// A synthetic set is recognized by the mark that synth writes or, if the mark is missing, by its words.
func TestSynthetic(t *testing.T) {
	for _, row := range models.Rows() {
		var file bytes.Buffer
		require.NoError(t, SynthSet{Row: row, Samples: 100, Seed: 7}.Write(&file))
		d, err := Open(writeFile(t, "synth", file.Bytes()), ForRow(row))
		require.NoError(t, err)
		require.True(t, d.marked, row.Name)
		require.True(t, Synthetic(d), row.Name)
		d.Samples[3].InputIDs = append(d.Samples[3].InputIDs, 15339) // the id of a word in a real vocabulary
		require.True(t, Synthetic(d), row.Name)

		bare := strings.ReplaceAll(file.String(), `, "`+synthMark+`": true`, "")
		require.NotEqual(t, file.String(), bare)
		d, err = Open(writeFile(t, "bare", []byte(bare)), ForRow(row))
		require.NoError(t, err)
		require.False(t, d.marked, row.Name)
		require.True(t, Synthetic(d), row.Name)
		d.Samples[3].InputIDs = append(d.Samples[3].InputIDs, 15339)
		require.False(t, Synthetic(d), row.Name)
	}
	text, err := New([]Sample{{Input: "a prompt without ids"}}, Options{})
	require.NoError(t, err)
	require.False(t, Synthetic(text))
}

// Small ids prove nothing: they stand for bytes in most vocabularies, and for words in small vocabularies.
func TestSmallIDsAreNotSynthetic(t *testing.T) {
	file := []byte(`{"input": "a", "ids": [72, 101, 108, 108, 111], "mlperf_go_synthetic": false}` + "\n" +
		`{"input": "b", "ids": [1, 2, 3]}`)
	o := Options{Columns: []models.Column{{Name: "input", Type: "text", Role: "input"},
		{Name: "ids", Type: "ids", Role: "input_ids"}}}
	d, err := Open(writeFile(t, "small.jsonl", file), o)
	require.NoError(t, err)
	require.False(t, Synthetic(d))
	samples, err := New([]Sample{{InputIDs: []int32{0, 255, SynthBOS}}}, Options{})
	require.NoError(t, err)
	require.False(t, Synthetic(samples))
	require.False(t, Synthetic(&Dataset{}))
}

// The mark survives conversion to every format, and a set with some real rows keeps it too.
func TestTheMarkIsConverted(t *testing.T) {
	row := llamaRow
	var file bytes.Buffer
	require.NoError(t, SynthSet{Row: row, Samples: 10, Seed: 7}.Write(&file))
	path := writeFile(t, "synth.json", file.Bytes())
	for _, format := range []string{FormatJSON, FormatJSONL, FormatCSV, FormatParquet} {
		var out bytes.Buffer
		_, err := Convert(&out, []string{path}, ForRow(row), format)
		require.NoError(t, err)
		d, err := Open(writeFile(t, "out."+format, out.Bytes()), ForRow(row))
		require.NoError(t, err)
		require.True(t, d.marked, format)
	}
	real := []byte(`{"input": "Tell me of the sea.", "tok_input": [128000, 41551, 757], "output": "It is wide."}`)
	var out bytes.Buffer
	_, err := Convert(&out, []string{writeFile(t, "real.json", real), path}, ForRow(row), FormatJSONL)
	require.NoError(t, err)
	d, err := Open(writeFile(t, "mixed.jsonl", out.Bytes()), ForRow(row))
	require.NoError(t, err)
	require.False(t, invented(d))
	require.True(t, Synthetic(d))
}
