package datasets

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// A prompt is synthetic from half of its ids on that are invented words, and never with an id of no word.
func TestHalfOfTheIDsAreInvented(t *testing.T) {
	const spaced, bare = int32(synthSpacedWord), int32(synthBareWord)
	for _, c := range []struct {
		ids  []int32
		want bool
	}{
		{[]int32{spaced, 5}, true}, {[]int32{spaced, 5, 6}, false}, {[]int32{spaced, bare, 5, 6}, true},
		{[]int32{spaced, 5, 255, 0}, false}, {[]int32{spaced}, true}, {[]int32{spaced, bare, spaced, -1}, false},
		{[]int32{spaced + SynthWords - 1, bare + SynthWords - 1}, true}, {[]int32{spaced, SynthBOS}, true},
		{[]int32{5}, false},
	} {
		require.Equal(t, c.want, synthIDs(c.ids), c.ids)
	}
	for text, want := range map[string]bool{"": false, "the cat": false} {
		require.Equal(t, want, synthText(text), text)
	}
}

// A fixed column of a Parquet file has values of at least one byte, and of at most a record's.
func TestWidthsOfFixedColumns(t *testing.T) {
	for width, ok := range map[int]bool{-1: false, 0: false, 1: true, maxRecord: true, maxRecord + 1: false} {
		r := &schemaReader{}
		n := &pqNode{physical: pqFixed, width: width}
		e := &thriftNode{kids: []thriftNode{{field: 1}}}
		require.Equal(t, ok, r.finish(n, e) == nil, width)
		require.Equal(t, ok, len(r.leaves) == 1)
		require.NotNil(t, (&schemaReader{}).finish(&pqNode{}, &thriftNode{}), "no type")
	}
}

// The old annotation of a column counts where there is no new one.
func TestOldAnnotationsOfColumns(t *testing.T) {
	for converted, meaning := range pqConverted {
		n := &pqNode{}
		n.annotate(&thriftNode{kids: []thriftNode{{field: 6, whole: int64(converted)}}})
		require.Equal(t, meaning, n.meaning, converted)
		other := &pqNode{}
		other.annotate(&thriftNode{kids: []thriftNode{{field: 7, whole: int64(converted)}}})
		require.Zero(t, other.meaning)
	}
}

// A text is synthetic from five invented words on that are half of its words, without those of a template.
func TestHalfOfTheWordsAreInvented(t *testing.T) {
	invented := ""
	for word := range SynthVocabulary().numbers {
		if len(word) > 3 && strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) < 0 {
			invented = word
			break
		}
	}
	require.NotEmpty(t, invented)
	for _, c := range []struct {
		invented, other int
		want            bool
	}{{4, 0, false}, {5, 0, true}, {5, 21, true}, {5, 22, false}, {20, 36, true}, {20, 37, false}, {0, 0, false}} {
		text := strings.Repeat(invented+" ", c.invented) + strings.Repeat("Zq, ", c.other)
		require.Equal(t, c.want, synthText(text), c)
		require.Equal(t, c.want, synthText(text+";base64,"+strings.Repeat("Zq/", 100)), "%v with an image", c)
	}
}

// Each subset of function calls has its number of functions and of calls.
func TestNumbersOfSynthCalls(t *testing.T) {
	m, err := models.Find("qwen3.6-27b")
	require.NoError(t, err)
	var file bytes.Buffer
	set := SynthSet{Row: m.Row, Samples: 2 * len(synthCallSubsets), Seed: 3}
	require.NoError(t, set.Write(&file))
	var records []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(file.Bytes(), &records))
	columns := m.Row.Scoring.Columns
	list := func(r map[string]json.RawMessage, column string) (n int) {
		text := string(r[column])
		if json.Unmarshal(r[column], &text) != nil {
			text = string(r[column])
		}
		var items []json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(text), &items), column)
		return len(items)
	}
	for i, r := range records {
		subset := synthCallSubsets[i%len(synthCallSubsets)]
		calls, functions := 1, 1
		if strings.Contains(subset, "multiple") {
			functions = 3
		}
		if strings.Contains(subset, "parallel") {
			calls = 2
		}
		if strings.Contains(subset, "irrelevance") {
			calls = 0
		}
		require.Equal(t, []int{calls, functions, functions}, []int{list(r, columns.Target), list(r, columns.Function),
			list(r, "tools")}, subset)
	}
}
