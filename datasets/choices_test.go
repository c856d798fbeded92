package datasets

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// The first bytes of a binary format decide, unless another format was given.
func TestMarksOfFormats(t *testing.T) {
	for head, want := range map[string]string{"PAR1": FormatParquet, "PAR": "", "\x93NUMPY": FormatNPY, "\x93NUMP": "",
		"\x80\x02": FormatPickle, "\x80\x09": FormatPickle, "\x80\x00": FormatPickle, "\x80\x0a": "", "\x80": "",
		"\x81\x02": "", "": "", "[": ""} {
		require.Equal(t, want, markedFormat([]byte(head)), "%q", head)
	}
	for _, c := range []struct{ wanted, marked, head, found string }{
		{FormatParquet, "", "abc", ""}, {FormatParquet, "", "abcd", "a file that does not begin like parquet"},
		{FormatNPY, "", "abcd", "a file that does not begin like npy"}, {FormatNPY, "", " [12",
			"a file that begins like json"},
		{FormatParquet, "", "{\"a\"", "a file that begins like json"}, {FormatParquet, "", "    ",
			"a file that does not begin"},
		{FormatCSV, "", "abcd", ""}, {FormatJSON, "", "abcd", ""}, {FormatPickle, "", "(lp0", ""},
		{FormatPickle, FormatPickle, "\x80\x02", ""}, {FormatPickle, FormatNPY, "\x93NUMPY", "a file that begins like npy"},
		{FormatParquet, FormatParquet, "PAR1", ""}, {FormatNPY, "", "[   ", "a file that begins like json"},
	} {
		err := contradiction(c.wanted, c.marked, []byte(c.head))
		require.Equal(t, c.found == "", err == nil, c)
		if err != nil {
			require.Contains(t, err.Error(), c.found, c)
		}
	}
	p, err := newPlan(testOptions())
	require.NoError(t, err)
	for _, c := range []struct{ wanted, content, want string }{{"", "[]", FormatJSON}, {"auto", "a,b\n", FormatCSV},
		{"PKL", "(lp0", FormatPickle}, {"JSONL", "{}", FormatJSON}, {"Csv", "[]", FormatCSV}, {"AUTO", "PAR1", FormatParquet},
		{"", "\xef\xbb\xbftok_input\n", FormatCSV}} {
		frames := newFramer(strings.NewReader(c.content))
		got, err := formatOf(c.wanted, frames, p)
		require.NoError(t, err, c)
		require.Equal(t, c.want, got, c)
		require.False(t, strings.HasPrefix(string(frames.head(3)), "\xef"), "the mark is not content")
	}
}

// The length of a prompt is at least 1 and at most that of its row.
func TestPromptsInsideOfRows(t *testing.T) {
	for text, want := range map[string]int{"1": 1, "3": 3, "0": 0, "4": 0, "-1": 0, "x": 0, "": 0, "2.0": 0} {
		s := &Sample{InputIDs: []int32{7, 8, 9}, InputLen: 3, Kept: []string{"other", text}}
		f := cut(s)
		require.Equal(t, want == 0, f != nil, text)
		require.Equal(t, []string{"other"}, s.Kept)
		if f == nil {
			require.Equal(t, []int32{7, 8, 9}[:want], s.InputIDs)
			require.Equal(t, []int{want, want}, []int{s.InputLen, cap(s.InputIDs)})
		} else {
			require.Contains(t, f.found, "for 3 ids")
		}
	}
}

// The types in the parameters of a function are translated at every depth, and nothing else is.
func TestTypesOfFunctions(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"dict"}`: `{"type":"object"}`, `{"type":"tuple"}`: `{"type":"object"}`, `{"type":5}`: `{"type":5}`,
		`[]`: `[]`, `"x"`: `"x"`, `{}`: `{}`, `{"other":"dict"}`: `{"other":"dict"}`,
		`{"properties":{"a":{"type":"any"},"type":{"type":"long"}}}`: `{"properties":{"a":{"type":"string"},` +
			`"type":{"type":"integer"}}}`,
		`{"properties":[{"type":"any"}]}`:                        `{"properties":[{"type":"any"}]}`,
		`{"items":{"type":"ArrayList","items":{"type":"byte"}}}`: `{"items":{"type":"array","items":{"type":"integer"}}}`,
		`{"additionalProperties":{"type":"HashMap"}}`:            `{"additionalProperties":{"type":"object"}}`,
		`{"additionalProperties":false}`:                         `{"additionalProperties":false}`,
	} {
		require.Equal(t, want, string(schemaOf([]byte(schema), true)), schema)
	}
	require.Equal(t, `{"type":"array"}`, string(schemaOf([]byte(`{"type":"tuple"}`), false)))
	require.Equal(t, `{"type":"string"}`, string(schemaOf([]byte(`{"type":"other"}`), false)))
	require.Empty(t, schemaOf(nil, true))
	require.Empty(t, propertiesOf(nil))
	for function, want := range map[string]string{`{"name":"a.b.c"}`: `{"name":"a_b_c"}`, `{"a":1}`: `{"a":1}`,
		`{}`: "", `{"name":5}`: ""} {
		tool, err := toolOf(json.RawMessage(function))
		require.Equal(t, want == "", err != nil, function)
		if err == nil {
			require.Equal(t, `{"type":"function","function":`+want+`}`, string(tool))
		}
	}
}

// An image goes to the last message of a user, and parts of a text are separated by blank lines.
func TestMessagesWithImages(t *testing.T) {
	image := base64Of(tinyJPEG)
	url := `{"type":"image_url","image_url":{"url":"data:image/JPEG;base64,` + image + `"}}`
	open := func(template, record string) Sample {
		o := productOptions()
		if template != "" {
			parsed, f := parseTemplate(template)
			require.Nil(t, f)
			o.Template = parsed
		}
		d, err := Open(writeFile(t, "a.json", []byte(record)), o)
		require.NoError(t, err)
		require.Equal(t, len(d.Samples[0].Messages), d.Samples[0].MessageBytes)
		require.Equal(t, template == "" && strings.Contains(record, "image"), d.WithoutTemplate == 1)
		return d.Samples[0]
	}
	const system = `[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":`
	record := `{"product_title":"T","product_description":"D","system_message":"S","product_image":"` + image + `"}`
	for template, want := range map[string]string{
		"":                 system + `"T\n\nD"},` + url + `]}]`,
		"{product_title}!": system + `"T!"},` + url + `]}]`,
		"[user]\na{product_title}\n[assistant]\nb\n[user]\nc": `[{"role":"user","content":"aT"},` +
			`{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"text","text":"c"},` + url + `]}]`,
	} {
		require.Equal(t, want, string(open(template, record).Messages), template)
	}
	s := open("{product_title}!", `{"product_title":"T"}`)
	require.Equal(t, []string{"T!", ""}, []string{s.Input, string(s.Messages)})
	s = open("", `{"product_title":"","product_description":"D","product_image":"`+image+`"}`)
	require.Contains(t, string(s.Messages), `"text":"D"`)
	s = open("[system]\n{product_title}", record)
	require.Equal(t, `[{"role":"system","content":"T"}]`, string(s.Messages))
	require.Zero(t, s.ImageBytes)
}

// A column's first conclusive value distinguishes columns from a record.
func TestColumnsOrARecord(t *testing.T) {
	for _, c := range []struct {
		value            string
		kinds            kind
		columns, settled bool
	}{
		{`"x"`, kindText, false, true}, {"5", kindIDs, false, true}, {"[1]", kindText, true, true}, {"[[1]]", kindIDs,
			true, true},
		{"[1]", kindIDs, false, true}, {"[ \n\t\r[1]]", kindIDs, true, true}, {"[]", kindIDs, false, false}, {"[ ",
			kindIDs, false, false},
		{"[[1]]", kindArray, false, false}, {"[1]", kindArray, false, false}, {"[{}]", kindMessages, false, true},
		{"[[{}]]", kindMessages, true, true}, {"[[1]]", kindText | kindArray, false, false}, {"{}", kindArray, false, true},
	} {
		columns, settled := settledBy([]byte(c.value), c.kinds)
		require.Equal(t, []bool{c.columns, c.settled}, []bool{columns, settled}, c)
	}
	p, err := newPlan(testOptions())
	require.NoError(t, err)
	for text, want := range map[string]bool{`{"tok_input":[[1]]}`: true, `{"tok_input":[1]}`: false,
		`{"input":["a"]}`: true, `{}`: false,
		"": false, `[{"input":["a"]}]`: false, `{"other":[1],"input":"a"}`: false, `{"other":[1],"id":[1]}`: true,
		`{"other":[1`: false, ` {"id":[1]}`: true, `{"x":"` + strings.Repeat("y", 300<<10) + `","id":[1]}`: true,
		`{"x":"` + strings.Repeat("y", 300<<10) + `","id":1}`: false, `{"x":1 "id":[1]}                     `: false} {
		require.Equal(t, want, columnar(newFramer(strings.NewReader(text)), p), "%.40s", text)
	}
}

// Kept slices share blocks, and appending to one does not write into the next.
func TestSlicesOfAnArena(t *testing.T) {
	a := arena[int]{block: 4}
	first, second, long, third := a.keep([]int{1, 2}), a.keep([]int{3, 4}), a.keep([]int{5, 6, 7, 8, 9}), a.keep([]int{1})
	require.Equal(t, [][]int{{1, 2}, {3, 4}, {5, 6, 7, 8, 9}, {1}}, [][]int{first, second, long, third})
	require.Equal(t, []int{2, 2, 5, 1}, []int{cap(first), cap(second), cap(long), cap(third)})
	require.Len(t, a.rest, 3)
	require.Same(t, &first[:1][0], &first[0])
	require.Equal(t, 5, append(first, 5)[2])
	require.Equal(t, []int{3, 4}, second)
	source := []int{1}
	kept := a.keep(source)
	source[0] = 9
	require.Equal(t, []int{1}, kept)
	require.Len(t, a.rest, 2)
}

// An overriding name wins over an alias of another column, and the first column over later ones.
func TestNamesOfColumns(t *testing.T) {
	o := testOptions()
	o.Overrides = map[string]string{roleTarget: "text_input"}
	o.KeepText, o.KeepTarget = true, true
	d, err := Open(writeFile(t, "a", []byte(`{"tok_input":[1],"text_input":"x"}`)), o)
	require.NoError(t, err)
	require.Equal(t, []string{"", "x"}, []string{d.Samples[0].Input, d.Samples[0].Target})
	o = testOptions()
	o.KeepText = true
	d, err = Open(writeFile(t, "a", []byte(`{"tok_input":[1],"text_input":"alias","input":"name"}`)), o)
	require.NoError(t, err)
	require.Equal(t, "name", d.Samples[0].Input)
	p, err := newPlan(Options{Columns: []models.Column{{Name: "a", Aliases: []string{"b", "c"}, Type: "text|int"},
		{Name: "b", Aliases: []string{"c", "d"}, Type: "ids"}}})
	require.NoError(t, err)
	require.Equal(t, map[string]nameRef{"a": {0, 0}, "b": {0, 1}, "c": {0, 2}, "d": {1, 2}, synthMark: {2, 0}}, p.byName)
	require.Equal(t, "a string or an integer", p.columns[0].expected)
	kinds, known := p.kindsNamed("d")
	require.Equal(t, []any{kindIDs, true}, []any{kinds, known})
	_, known = p.kindsNamed("x")
	require.False(t, known)
	_, err = newPlan(Options{Columns: testColumns, Overrides: map[string]string{roleInput: ""}})
	require.ErrorContains(t, err, "a column needs a name")
}

// The end of the file inside a record is one fault, and a fault well before it another.
func TestFaultsBeforeTheEnd(t *testing.T) {
	for text, says := range map[string]string{
		"[\n{\"tok_input\":\n[1,":               "record 1 (line 3): found the end of the file inside a record",
		"[\n{\"tok_input\":\ntru":               "record 1 (line 3): found the end of the file inside a record",
		"[\n{\"tok_input\" [1],\n\"input\": \"": "record 1 (line 2): found \"[1],",
		"[{\"tok_input\":[1]},":                 "record 1 (line 1): found the end of the file inside the array of records",
	} {
		_, err := Open(writeFile(t, "a", []byte(text)), testOptions())
		require.ErrorContains(t, err, says, text)
	}
}
