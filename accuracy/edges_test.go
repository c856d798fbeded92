package accuracy

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBounds(t *testing.T) {
	for want, m := range map[string]Metric{
		"1 to 2": {Min: 1, Max: 2}, "at least 1": {Min: 1}, "at most 2": {Max: 2}, "no target": {},
	} {
		require.Equal(t, want, m.Bounds())
	}
}

func TestTokenIDsAtTheEdgesOfTheirTypes(t *testing.T) {
	float := func(f float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(f)) }
	whole := func(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }
	for _, c := range []struct {
		data  []byte
		dtype DType
		want  int32
		ok    bool
	}{
		{whole(math.MinInt32), Int64, math.MinInt32, true},
		{whole(math.MinInt32 - 1), Int64, 0, false},
		{whole(math.MaxInt32), Int64, math.MaxInt32, true},
		{whole(math.MaxInt32 + 1), Int64, 0, false},
		{float(7), Float32, 7, true},
		{float(1e20), Float32, 0, false},
		{float(-1e20), Float32, 0, false},
		{float(float32(math.NaN())), Float32, 0, false},
		{float(-1 << 31), Float32, math.MinInt32, true},
	} {
		ids, err := tokenIDs(c.data, c.dtype)
		if !c.ok {
			require.ErrorContains(t, err, "try --dtype", "%x", c.data)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []int32{c.want}, ids)
	}
}

func TestSeveralTokenIDs(t *testing.T) {
	for dtype, data := range map[DType][]byte{
		Int32:   {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0},
		Int64:   {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0},
		Float32: {0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40},
	} {
		ids, err := tokenIDs(data, dtype)
		require.NoError(t, err)
		require.Equal(t, []int32{1, 2, 3}, ids, dtype)
	}
}

func TestBrandRatio(t *testing.T) {
	require.InDelta(t, 100, brandRatio(" ACME ", "acme"), 1e-9)
	require.InDelta(t, 75, brandRatio("acme", "acne"), 1e-9, "3 of 4 letters agree")
	require.InDelta(t, 0, brandRatio("a", "b"), 1e-9)
}

func TestNumbersOfPython(t *testing.T) {
	_, err := pyNumber("1x")
	require.ErrorContains(t, err, "is not a number")
	require.InDelta(t, 1.5, readFloat("1.5"), 0)
	require.True(t, quotedText(`'a'`))
	for text, quoted := range map[string]bool{`'a'`: true, `"a"`: true, `'ab'`: true, "": false, `'a"`: false,
		`'ab`: false, "aa": false} {
		require.Equal(t, quoted, quotedText(text), text)
	}
}

func TestUnwrapText(t *testing.T) {
	for s, want := range map[string]string{`\text{ a }`: " a ", "\\text{a}\n": "a", `\text{a`: `\text{a`, "a}": "a}",
		`\text{}`: `\text{}`, "\\text{a\nb}": "\\text{a\nb}"} {
		require.Equal(t, want, unwrapText(s, false))
	}
	require.Equal(t, "a", unwrapText(`\text{ a }`, true))
}

func TestStems(t *testing.T) {
	for word, want := range map[string]string{"biology": "biolog", "logy": "logi", "rally": "ralli", "formally": "formal",
		"died": "die", "dies": "die", "agreed": "agre", "bed": "bed", "by": "by", "happy": "happi"} {
		require.Equal(t, want, porterStem(word), word)
	}
}
