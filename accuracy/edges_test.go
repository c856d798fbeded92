package accuracy

import (
	"encoding/binary"
	"math"
	"strings"
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
		"died": "die", "dies": "die", "agreed": "agr" + "e", "bed": "bed", "by": "by", "happy": "happi"} {
		require.Equal(t, want, porterStem(word), word)
	}
}

func TestPythonLiterals(t *testing.T) {
	for literal, want := range map[string]string{ // results of Python's ast.literal_eval; tuples as lists
		`1`: `1`, `-2`: `-2`, `+3`: `3`, `0x1f`: `31`, `0b11`: `3`, `0o17`: `15`, `1_000`: `1000`, `1.5`: `1.5`,
		`.5`: `0.5`, `5.`: `5.0`, `1e3`: `1000.0`, `1E-2`: `0.01`, `-1e+3`: `-1000.0`, `0`: `0`, `00`: `0`, `-0`: `0`,
		`True`: `true`, `False`: `false`, `None`: `null`, `'a'`: `"a"`, `"b"`: `"b"`, `r'\n'`: `"\\n"`, `u'x'`: `"x"`,
		`R'a' 'b'`: `"ab"`, `'a' 'b'`: `"ab"`, "'''t\n'q'''": `"t\n'q"`, `"""x"""`: `"x"`, `'\n\t\\\''`: `"\n\t\\'"`,
		`'\x41\u00e9\U0001f600\101\0\q'`: `"A\u00e9\ud83d\ude00A\u0000\\q"`, `''`: `""`, `[]`: `[]`,
		`[1, 2]`: `[1, 2]`, `[1,]`: `[1]`, `()`: `[]`, `(1)`: `1`, `(1,)`: `[1]`, `(1, 2)`: `[1, 2]`, `{}`: `{}`,
		`{'a': 1}`: `{"a": 1}`, `{'a': 1,}`: `{"a": 1}`, `{'a': 1, 'a': 2}`: `{"a": 2}`,
		`{'a': [1, {'b': (None,)}]}`: `{"a": [1, {"b": [null]}]}`, `  1 `: `1`, `- 1`: `-1`,
		`12345678901234567890123`: `12345678901234567890123`, `1_0.5`: `10.5`, `0x_1`: `1`, `'a' u'b'`: `"ab"`,
		`[1, 'x', True]`: `[1, "x", true]`, `1.e3`: `1000.0`, "'\\\n'": `""`, `'\8'`: `"\\8"`, `'\400'`: `"\u0100"`,
		`1.0e0_1`: `10.0`, `+  1`: `1`, ` - .5`: `-0.5`, `'\777'`: `"\u01ff"`, `1_0e1_0`: `100000000000.0`,
		`(1,2,)`: `[1, 2]`,
	} {
		v, ok := pythonLiteral(literal)
		require.True(t, ok, literal)
		var got strings.Builder
		pyDump(&got, v)
		require.Equal(t, want, got.String(), literal)
	}
	for _, text := range []string{
		`1__0`, `_1`, `01`, `1.5.2`, `1e`, `0x`, `Truex`, `true`, `'\x4'`, "'a\nb'", `'a`, `'`, `[,]`, `[1 2]`,
		`{1: 2}`, `{'a' 1}`, `{'a'}`, `1 x`, `--1`, `1j`, `inf`, `nan`, `b'x'`, `ru'x'`, `0777`, `1_.5`, `0_1`,
		`(1 + 2)`, `1+2`, `ｎ`, `-x`, `-`, `'\u12'`, `'\U00110000'`, `[1,,2]`, `{,}`, `{'a':1 'b':2}`, `'a`, `[1`, `(1`,
		`{'a'`, `'''a'`, `'\'`, `1 2`,
	} {
		_, ok := pythonLiteral(text)
		require.False(t, ok, text)
	}
	_, ok := pythonLiteral(strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1))
	require.False(t, ok)
}

func TestNormalFormOfMATH(t *testing.T) {
	for answer, want := range map[string]string{ // results of Hendrycks' script
		`\text{12 cm}`: `12cm`, `\text{ x }`: `x`, `5\text{ cm}`: `5`, `1\text{ a}\text{ b}`: `1\text{ a}\text{ b}`,
		`\frac12`: `\frac{1}{2}`, `\frac1{2}`: `\frac{1}{2}`, `\frac{1}2`: `\frac{1}2`, `\frac{1}{2}`: `\frac{1}{2}`,
		`\tfrac123`: `\frac{1}{2}3`, `\frac1`: `\frac1`, `x\frac`: `x\frac`, `\dfrac\frac12`: `\dfrac\frac12`,
		`\sqrt3`: `\sqrt{3}`, `\sqrt{3}`: `\sqrt{3}`, `\sqrt`: `\sqrt`, `2\sqrt34`: `2\sqrt{3}4`, `\sqrté`: `\sqrt{é}`,
		`.5`: `\frac{1}{2}`, `0.5`: `\frac{1}{2}`, `x=.5`: `.5`, `{.5}`: `{0.5}`, `k = 3`: `3`, `xyz=3`: `xyz=3`,
		`x=y=3`: `x=y=3`, `1/2`: `\frac{1}{2}`, `-3/4`: `\frac{-3}{4}`, `01/2`: `01/2`, `1/2/3`: `1/2/3`, `a/b`: `a/b`,
		`1/-2`: `\frac{1}{-2}`, `\left( 3 \right)`: `(3)`, `90^\circ`: `90`, `90^{\circ}`: `90`, `\$5`: `5`,
		`5\%`: `5`, `a b`: `ab`, "a\nb": `ab`, `\!1\!`: `1`, `\\frac12`: `\frac{1}{2}`, ``: ``, `.`: `0.`,
		`a .5`: `a0.5`, `-0/1`: `-0/1`,
	} {
		require.Equal(t, want, mathNormal(answer), answer)
	}
}

// The reference parses answers with a pydantic model; the results here are those of that model.
func TestProducts(t *testing.T) {
	const whole = `{"category":"a > b","brand":"c","is_secondhand":true}`
	for secondhand, want := range map[string]bool{"true": true, `"Yes"`: true, `"ON"`: true, `"t"`: true, "1": true,
		"1.0": true, "10e-1": true, `"1"`: true, `"T\u0052ue"`: true, "false": false, `"off"`: false, "0": false,
		"-0": false, "0.0": false, `"n"`: false} {
		p, err := parseProduct(strings.Replace(whole, "true", secondhand, 1))
		require.NoError(t, err, secondhand)
		require.Equal(t, catalogueProduct{"a > b", "c", want}, p, secondhand)
	}
	for text, want := range map[string]string{`"\u00e9"`: "é", `"\ud83d\ude00"`: "😀", `"\\ud800"`: `\ud800`,
		`"\ud83d\ude00\ud83d\ude00\n"`: "😀😀\n"} {
		p, err := parseProduct(strings.Replace(whole, `"c"`, text, 1))
		require.NoError(t, err, text)
		require.Equal(t, want, p.Brand)
	}
	p, err := parseProduct(strings.Replace(" \n"+whole+"\t", `"c"`, `"x","brand":"y"`, 1))
	require.NoError(t, err)
	require.Equal(t, "y", p.Brand, "the last one counts")
	for _, text := range []string{"", "{}", "[]", "null", "1", `{"category":"a"}`, `{1:2}`, `{"category"}`,
		`{"category":}`, `{"category":"a",}`, whole + " x", whole + "}", whole[:len(whole)-1], "\ufeff" + whole,
		strings.Replace(whole, "true", `true,"x":1`, 1), strings.Replace(whole, "true", "2", 1),
		strings.Replace(whole, "true", "1.5", 1), strings.Replace(whole, "true", "null", 1),
		strings.Replace(whole, "true", `"x"`, 1), strings.Replace(whole, "true", `" true"`, 1),
		strings.Replace(whole, "true", "NaN", 1), strings.Replace(whole, "true", "[]", 1),
		strings.Replace(whole, `"c"`, "1", 1), strings.Replace(whole, `"c"`, "null", 1),
		strings.Replace(whole, `"c"`, `"\ud800"`, 1), strings.Replace(whole, `"c"`, `"\udc00"`, 1),
		strings.Replace(whole, `"c"`, `"\ud800x\udc00"`, 1), strings.Replace(whole, `"c"`, `"\ud800\ud800\udc00"`, 1),
		strings.Replace(whole, `"c"`, `"\ud800\u0041"`, 1), strings.Replace(whole, `"c"`, "\"\n\"", 1),
		strings.Replace(whole, `"c"`, "\"\xff\"", 1),
		strings.Replace(whole, `"c"`, `"`+strings.Repeat("c", maxProductBytes)+`"`, 1)} {
		_, err := parseProduct(text)
		require.Error(t, err, "%.80q", text)
	}
}
