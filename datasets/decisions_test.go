package datasets

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each fault of a sample made in memory, alone and at its edge.
func TestEachFaultOfASample(t *testing.T) {
	ids := func(list ...int32) Sample { return Sample{InputIDs: list} }
	for name, c := range map[string]struct {
		samples []Sample
		o       Options
		want    string
	}{
		"ids":            {[]Sample{ids(0, 9)}, Options{MaxInputTokens: 2, Vocabulary: 10}, ""},
		"too many ids":   {[]Sample{ids(0, 1, 2)}, Options{MaxInputTokens: 2}, "3 token ids, expected at most 2"},
		"any number":     {[]Sample{ids(make([]int32, 1000)...)}, Options{}, ""},
		"beyond":         {[]Sample{ids(1, 10)}, Options{Vocabulary: 10}, "the id 10 at position 1"},
		"negative":       {[]Sample{ids(1, 2, -1)}, Options{}, "the negative id -1 at position 2"},
		"no ids":         {[]Sample{{InputIDs: []int32{}}}, Options{}, "no token ids"},
		"nothing":        {[]Sample{{Target: "x", ID: "1"}}, Options{}, "no prompt"},
		"text":           {[]Sample{{Input: "a"}, {Input: "b"}}, Options{}, ""},
		"messages":       {[]Sample{{Messages: []byte(`[{}]`)}}, Options{}, ""},
		"no array":       {[]Sample{{Messages: []byte(`{}`)}}, Options{}, "expected a JSON array of chat messages"},
		"no JSON":        {[]Sample{{Messages: []byte(`[`)}}, Options{}, "expected a JSON array of chat messages"},
		"empty messages": {[]Sample{{Messages: []byte{}}}, Options{}, "expected a JSON array of chat messages"},
		"same id": {[]Sample{{Input: "a", ID: "x"}, {Input: "b", ID: "x"}}, Options{},
			`the id "x" of record 1 again`},
		"other ids": {[]Sample{{Input: "a", ID: "x"}, {Input: "b", ID: "y"}}, Options{}, ""},
		"ids of one": {[]Sample{{Input: "a", ID: "x"}, {Input: "b"}}, Options{},
			"no such field, expected one, because record 1"},
		"ids of the next": {[]Sample{{Input: "a"}, {Input: "b", ID: "x"}}, Options{},
			"expected no such field, because record 1"},
		"text of one": {[]Sample{{Input: "a", Messages: []byte("[]")}, {Messages: []byte("[]")}}, Options{},
			"no such field"},
		"messages of one":  {[]Sample{{Input: "a", Messages: []byte("[]")}, {Input: "b"}}, Options{}, "no such field"},
		"tokens of one":    {[]Sample{{Input: "a", InputIDs: []int32{1}}, {Input: "b"}}, Options{}, "no such field"},
		"tokens of others": {[]Sample{{Input: "a"}, {Input: "b", InputIDs: []int32{1}}}, Options{}, "no such field"},
		"none":             {nil, Options{}, "0 samples"},
		"beyond the limit": {[]Sample{{Input: "a"}, {}}, Options{Limit: 1}, ""},
		"within the limit": {[]Sample{{Input: "a"}, {}}, Options{Limit: 2}, "no prompt"},
	} {
		d, err := New(c.samples, c.o)
		if c.want != "" {
			require.ErrorContains(t, err, c.want, name)
			continue
		}
		require.NoError(t, err, name)
		for i, s := range d.Samples {
			require.Equal(t, i, s.Index)
			require.Equal(t, len(s.InputIDs), s.InputLen)
		}
	}
	v := newValidator(Options{}, "p", presenceNames{})
	require.Nil(t, v.check(&Sample{}, presence{text: true}))
	v.n = maxSamples - 1
	require.Nil(t, v.check(&Sample{}, presence{text: true}))
	require.Equal(t, "too many records", v.check(&Sample{}, presence{text: true}).found)
}

func TestFiguresOfLengths(t *testing.T) {
	for _, c := range []struct {
		values []int
		want   Summary
	}{{nil, Summary{}}, {[]int{7}, Summary{7, 7, 7, 7, 7}}, {[]int{3, 1, 2}, Summary{1, 2, 2, 3, 3}},
		{[]int{4, 1, 2, 3}, Summary{1, 2.5, 3, 4, 4}}} {
		require.Equal(t, c.want, Summarize(c.values))
	}
	many := make([]int, 200)
	for i := range many {
		many[i] = 199 - i
	}
	require.Equal(t, Summary{0, 99.5, 100, 198, 199}, Summarize(many))
	d := &Dataset{Samples: []Sample{{InputIDs: []int32{1, 2}, InputLen: 2, Target: "a b c", ImageBytes: 9,
		MessageBytes: 8},
		{Input: "text", Target: " "}, {MessageBytes: 2, ImageBytes: 3}}}
	s := Stats(d)
	require.Equal(t, []int{3, 1, 1, 2, 2}, []int{s.Samples, s.WithIDs, s.WithText, s.WithTarget, s.Images})
	require.Equal(t, []Summary{{2, 2, 2, 2, 2}, {4, 4, 4, 4, 4}, {0, 1.5, 3, 3, 3}, {3, 6, 9, 9, 9}, {2, 5, 8, 8, 8}},
		[]Summary{s.InputTokens, s.InputBytes, s.TargetWords, s.ImageBytes, s.MessageBytes})
}

func TestRangesOfLengths(t *testing.T) {
	for _, c := range []struct {
		values    []int
		n         int
		low, step int
		counts    []int
	}{
		{nil, 3, 0, 1, nil}, {[]int{1}, 0, 0, 1, nil}, {[]int{5}, 3, 5, 1, []int{1}}, {[]int{1, 2, 3}, 3, 1, 1, []int{1, 1,
			1}},
		{[]int{0, 9}, 3, 0, 4, []int{1, 0, 1}}, {[]int{0, 3, 4, 8}, 2, 0, 5, []int{3, 1}}, {[]int{0, 8}, 1, 0, 9, []int{2}},
	} {
		low, step, counts := Bins(c.values, c.n)
		require.Equal(t, []any{c.low, c.step, c.counts}, []any{low, step, counts}, c)
	}
	require.Nil(t, Histogram(nil, 3, 10))
	require.Nil(t, Histogram([]int{1}, 3, 0))
	require.Equal(t, []string{" 0..3  2 ##########", " 4..7  0", " 8..10 1 #####"}, Histogram([]int{0, 3, 10}, 3, 10))
	require.Equal(t, []string{"5..5 1 #"}, Histogram([]int{5}, 3, 1))
}

func TestFormatsOfNames(t *testing.T) {
	for name, want := range map[string]string{"a.json": FormatJSON, "a.JSONL": FormatJSONL, "x/b.csv": FormatCSV,
		"c.parquet": FormatParquet, "d.npy": FormatNPY, "json": "", "a.json.gz": "", "": ""} {
		require.Equal(t, want, FormatOfName(name), name)
	}
}

// room takes some bytes and then fails.
type room struct{ left int }

func (r *room) Write(b []byte) (int, error) {
	if r.left -= len(b); r.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// A full disk is an error of each format, at whichever byte it happens.
func TestFullDiskOfEachFormat(t *testing.T) {
	var records []string
	for range 20 {
		records = append(records, `{"tok_input": [1, 2, 3], "output": "some text"}`)
	}
	path := writeFile(t, "set.json", []byte("["+strings.Join(records, ",")+"]"))
	o := testOptions()
	for _, format := range writable {
		var whole strings.Builder
		done, err := Convert(&whole, []string{path}, o, format)
		require.NoError(t, err, format)
		require.Equal(t, 20, done.Records)
		for _, left := range []int{0, 1, whole.Len() / 2, whole.Len() - 1} {
			_, err := Convert(&room{left}, []string{path}, o, format)
			require.ErrorIs(t, err, errFull, "%s with room for %d of %d bytes", format, left, whole.Len())
		}
		_, err = Convert(&room{whole.Len()}, []string{path}, o, format)
		require.NoError(t, err, format)
		_, err = Convert(&whole, []string{path + "x"}, o, format)
		require.Error(t, err, format)
	}
	_, err := Convert(&strings.Builder{}, []string{path}, o, "xml")
	require.ErrorIs(t, err, ErrOption)
}

// The limit counts over all files of a conversion, and later files are not opened.
func TestLimitOverFiles(t *testing.T) {
	first := writeFile(t, "a.json", []byte(`[{"tok_input": [1]}, {"tok_input": [2]}]`))
	second := writeFile(t, "b.json", []byte(`[{"tok_input": [3]}, {"tok_input": [4]}]`))
	for limit, want := range map[int][]int{0: {2, 2}, 1: {1}, 2: {2}, 3: {2, 1}, 4: {2, 2}, 5: {2, 2}} {
		o := testOptions()
		o.Limit = limit
		done, err := Convert(&strings.Builder{}, []string{first, second}, o, FormatJSON)
		require.NoError(t, err)
		var records []int
		for _, from := range done.From {
			records = append(records, from.Records)
		}
		require.Equal(t, want, records, limit)
	}
}
