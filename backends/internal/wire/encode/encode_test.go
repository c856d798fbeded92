package encode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/quote"
	"github.com/mlperf-go/mlperf-go/models"
)

func TestID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Uint32Range(0, math.MaxInt32).Draw(t, "id")
		require.Equal(t, strconv.FormatUint(uint64(id), 10), string(ID(nil, id)))
	})
	for _, id := range []uint32{0, 9, 10, 99, 100, 999, 1000, 1001, 999999, 1000000, 1000001, math.MaxInt32} {
		require.Equal(t, fmt.Sprint(id), string(ID(nil, id)))
	}
}

func TestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var back string
		require.NoError(t, json.Unmarshal(Text(nil, text), &back))
		require.Equal(t, text, back)
	})
	require.Equal(t, `x"<a> \"b\" é\n"`, string(Text([]byte("x"), "<a> \"b\" é\n")))
	for c := range 256 { // each byte decides by itself, wherever it is, whether a text is copied
		for at := range 20 {
			text := []byte(strings.Repeat(" ~a!", 5))
			text[at] = byte(c)
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			require.NoError(t, enc.Encode(string(text)))
			require.Equal(t, want.String(), string(Text(nil, string(text)))+"\n")
		}
	}
}

// What is known about a text changes nothing of its JSON, as long as it is true.
func TestInput(t *testing.T) {
	for text, isPlain := range map[string]bool{"": true, "a (b) 'c' [1]\x7f": true, "<b>": false, `a "b"`: false, "a\n": false, "é": false,
		strings.Repeat("word ", 100): true, strings.Repeat("word ", 100) + "\\": false} {
		require.Equal(t, isPlain, quote.IsPlain(text), text)
		want := string(Text([]byte("x"), text))
		require.Equal(t, want, string(Input([]byte("x"), &datasets.Sample{Input: text})))
		require.Equal(t, want, string(Input([]byte("x"), &datasets.Sample{Input: text, Plain: isPlain})))
	}
	require.Equal(t, `"not looked at: ""`, string(Input(nil, &datasets.Sample{Input: `not looked at: "`, Plain: true})))
}

func TestPrompt(t *testing.T) {
	got, err := Prompt([]byte("x"), &datasets.Sample{InputIDs: []int32{0, 1000, math.MaxInt32}}, 0)
	require.NoError(t, err)
	require.Equal(t, "x[0,1000,2147483647]", string(got))
	for _, id := range []int32{-1, 100} {
		_, err := Prompt(nil, &datasets.Sample{Index: 3, InputIDs: []int32{99, id}}, 100)
		require.EqualError(t, err, fmt.Sprintf("sample 3: prompt id %d at position 1 is outside the vocabulary of 100 ids: "+
			"it is not sent", id))
	}
}

func TestMembers(t *testing.T) {
	small, wild := 1e-7, math.NaN()
	got, err := Number(Integers(Integer(nil, "a", -3), "b", []int32{1, 2}), "c", &small)
	require.NoError(t, err)
	require.Equal(t, `,"a":-3,"b":[1,2],"c":1e-07`, string(got))
	got, err = Number(Integers(nil, "b", nil), "c", nil)
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = Number(nil, "c", &wild)
	require.EqualError(t, err, "c is NaN: it has to be a finite number")
	for _, sign := range []int{-1, 1} {
		wild = math.Inf(sign)
		_, err = Number(nil, "c", &wild)
		require.ErrorContains(t, err, "finite number")
	}
}

// Servers' own defaults of drawing are switched off, and what the benchmark fixes is sent.
func TestDrawing(t *testing.T) {
	half, top, none, seed, wild := 0.5, 40, -1, int64(7), math.NaN()
	for want, p := range map[string]models.Sampling{
		`,"min_p":0,"repeat_penalty":1`:                   {},
		`,"temperature":0.5,"min_p":0,"repeat_penalty":1`: {Temperature: &half},
		`,"top_p":0.5,"min_p":0,"repeat_penalty":1`:       {TopP: &half},
		`,"top_k":40,"min_p":0,"repeat_penalty":1`:        {TopK: &top},
		`,"top_k":0,"min_p":0,"repeat_penalty":1`:         {TopK: &none},
		`,"min_p":0,"repeat_penalty":1,"seed":7`:          {Seed: &seed},
	} {
		got, err := Drawing([]byte("x"), &p)
		require.NoError(t, err)
		require.Equal(t, "x"+want, string(got))
	}
	for _, p := range []models.Sampling{{Temperature: &wild}, {TopP: &wild}} {
		_, err := Drawing(nil, &p)
		require.ErrorContains(t, err, "finite number")
	}
}
