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
	require.False(t, quotedText(""))
	require.False(t, quotedText(`'a"`))
}
