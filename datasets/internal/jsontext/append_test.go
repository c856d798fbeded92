package jsontext

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestQuotedReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var back string
		require.NoError(t, json.Unmarshal(AppendQuoted(nil, text), &back))
		require.Equal(t, text, back)
		require.Equal(t, AppendQuoted(nil, text), AppendQuoted(nil, []byte(text)))
	})
}

func TestFloatReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		text := AppendFloat(nil, v, 64)
		var back float64
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, v, back)
		require.Regexp(t, `[.e]`, string(text), "a whole number too keeps its kind")
	})
}

func TestKeys(t *testing.T) {
	b := append(AppendKey([]byte{'{'}, "a"), '1')
	require.Equal(t, `{"a":1,"b\"":`, string(AppendKey(b, `b"`)))
}
