package datasets

import (
	"testing"

	"github.com/stretchr/testify/require"
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
