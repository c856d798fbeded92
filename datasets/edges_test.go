package datasets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// synthRecords are the records of a benchmark's synthetic set.
func synthRecords(t *testing.T, name string) []map[string]json.RawMessage {
	t.Helper()
	m, err := models.Find(name)
	require.NoError(t, err)
	var file bytes.Buffer
	set := SynthSet{Row: m.Row, Samples: 5, Seed: 3, Code: true}
	require.NoError(t, set.Write(&file))
	var records []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(file.Bytes(), &records))
	require.Len(t, records, 5)
	return records
}

// Columns of a synthetic set that describe other columns agree with them.
func TestSynthColumnsAgree(t *testing.T) {
	text := func(r map[string]json.RawMessage, name string) (s string) {
		require.NoError(t, json.Unmarshal(r[name], &s), name)
		return s
	}
	ids := func(r map[string]json.RawMessage, name string) (ids []int32) {
		require.NoError(t, json.Unmarshal(r[name], &ids), name)
		return ids
	}
	for i, r := range synthRecords(t, "llama2-70b-99") {
		require.Equal(t, fmt.Sprint(len(ids(r, "tok_input"))), string(r["tok_input_length"]))
		require.Equal(t, fmt.Sprint(len(ids(r, "tok_output"))), string(r["tok_output_length"]))
		require.Equal(t, SynthVocabulary().Encode(text(r, "output")), ids(r, "tok_output"))
		require.Equal(t, text(r, "input"), text(r, "question"))
		require.Empty(t, text(r, "system_prompt"))
		require.Equal(t, synthOrigins[i%len(synthOrigins)], text(r, "origin"))
		require.Equal(t, fmt.Sprintf("synth-%d", i), text(r, "id"))
		require.Equal(t, "true", string(r[synthMark]))
	}
	for _, r := range synthRecords(t, "deepseek-r1") {
		require.Equal(t, fmt.Sprint(len(ids(r, "tok_input"))), string(r["tok_input_len"]))
		require.Equal(t, fmt.Sprint(len(ids(r, "tok_ref_output"))), string(r["tok_ref_output_len"]))
		require.Equal(t, text(r, "text_input"), text(r, "question"))
		require.Equal(t, text(r, "text_input"), text(r, "templated_text_input"), "its row has no template")
		require.Equal(t, "100.0", string(r["ref_accuracy"]))
	}
	for i, r := range synthRecords(t, "mixtral-8x7b") {
		if i%3 != 2 {
			continue
		}
		n := 0
		_, err := fmt.Sscanf(text(r, "ref_solution"), fmt.Sprintf("def add_%d(x):\n    return x + %%d", i), &n)
		require.NoError(t, err)
		require.Contains(t, text(r, "gt_output"), fmt.Sprintf("candidate(1) == %d\n", n+1), "its tests pass")
		require.Contains(t, text(r, "gt_output"), fmt.Sprintf("candidate(-5) == %d\n", n-5))
	}
	for _, r := range synthRecords(t, "gptj") {
		require.Contains(t, text(r, "instruction"), inputPlace)
	}
	for _, r := range synthRecords(t, "llama3.1-8b") {
		require.Contains(t, string(r["instruction"]), `{"llama": "`)
	}
	require.Equal(t, "a b c {input}", prompt("a {input} c {input}", "b"))
	require.Equal(t, "b", prompt("", "b"))
}

// A summary repeats sentences of its article in their order, without every sixth word.
func TestSummariesRepeatTheirArticle(t *testing.T) {
	g := &generator{state: 1}
	var article, kept []int
	for i := range 30 {
		if article = append(article, i); i%6 != 5 {
			kept = append(kept, i)
		}
	}
	for range 20 {
		for _, line := range strings.Split(g.summary([][]int{article}), "\n") {
			words := strings.Fields(line)
			require.LessOrEqual(t, len(words), len(kept))
			require.Equal(t, sentence(kept[:len(words)]), line)
		}
	}
}

func TestIDsInColumnsWithoutARoleAreChecked(t *testing.T) {
	m, err := models.Find("llama2-70b-99")
	require.NoError(t, err)
	records := synthRecords(t, "llama2-70b-99")
	for _, c := range []struct{ ids, says string }{{"[1, 2]", ""}, {"[1, -2]", "tok_output"}, {`[1, "2"]`, "tok_output"}} {
		records[1]["tok_output"] = json.RawMessage(c.ids)
		text, err := json.Marshal(records)
		require.NoError(t, err)
		_, err = Open(writeFile(t, "set.json", text), ForRow(m.Row))
		if c.says == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.says, c.ids)
		}
	}
}

func TestAsksForPrograms(t *testing.T) {
	var names []string
	for _, row := range models.Rows() {
		if AsksForPrograms(row) {
			names = append(names, row.Name)
		}
	}
	require.ElementsMatch(t, []string{"deepseek-r1", "gpt-oss-120b", "mixtral-8x7b"}, names)
}

func TestCountTokens(t *testing.T) {
	d := &Dataset{Samples: []Sample{{Input: "a b"}, {Input: "a b c", InputLen: 9, Target: "x"}, {InputLen: 4},
		{Target: "x y", MessageBytes: 7}}}
	words := func(text string) int { return len(strings.Fields(text)) }
	require.Equal(t, []int{1, 2}, CountTokens(d, words))
	var lengths []int
	for i := range d.Samples {
		lengths = append(lengths, d.Samples[i].InputLen)
	}
	require.Equal(t, []int{2, 9, 4, 0}, lengths)
}

func TestSpecialTokensOfSynth(t *testing.T) {
	m, err := models.Find("gpt-oss-120b")
	require.NoError(t, err)
	tokens := SynthTokensOf(m.Row)
	require.NotEmpty(t, tokens.special)
	special := tokens.special[0]
	require.Equal(t, []int32{special.ID, special.ID, '!'}, tokens.Encode(special.Text+special.Text+"!"))
	require.Equal(t, []int32{special.ID}, tokens.Encode(special.Text))
	require.Empty(t, tokens.Encode(""))
	ids := tokens.Encode("balara" + special.Text + "!")
	require.Contains(t, ids, special.ID)
	require.Equal(t, "balara"+special.Text+"!", tokens.Decode(ids, false))
	require.Equal(t, "balara!", tokens.Decode(ids, true))
	require.Empty(t, tokens.Piece(special.ID))
	require.Equal(t, "!", string(tokens.Piece('!')))
	require.Equal(t, "\ufffd", tokens.Decode([]int32{0xff}, true), "a byte that is not UTF-8")
}

// copies is a store that counts what it freed.
type copies struct{ freed int }

func (c *copies) Keep(b []byte) ([]byte, func(), error) {
	return bytes.Clone(b), func() { c.freed++ }, nil
}
func (c *copies) Close() error { return nil }

func TestMoveMessages(t *testing.T) {
	store := &copies{}
	d := &Dataset{Samples: []Sample{{Messages: []byte("old")}, {Messages: []byte("kept")}}, Store: store,
		free: []func(){func() { store.freed++ }}}
	to := append(make([]byte, 0, 10), "new"...)
	require.True(t, d.MoveMessages(0, to))
	require.Equal(t, "new", string(d.Samples[0].Messages))
	require.Equal(t, 3, cap(d.Samples[0].Messages), "appending must not write behind it")
	require.Equal(t, 1, store.freed)
	require.False(t, d.MoveMessages(0, to), "freed once")
	require.False(t, d.MoveMessages(1, to), "not in the store")
	require.Equal(t, "kept", string(d.Samples[1].Messages))
	d.Store = nil
	require.False(t, d.MoveMessages(0, to))
}

// Runs and packed bits of the Parquet specification (Encodings.md).
func TestRunsAndPackedBits(t *testing.T) {
	for _, c := range []struct {
		src      string
		n, width int
		want     []uint32
	}{
		{"\x06\x05", 3, 3, []uint32{5, 5, 5}},
		{"\x08\x05\x04\x01", 5, 8, []uint32{5, 5, 5, 5, 1}},
		{"\x06\x34\x12", 3, 12, []uint32{0x1234, 0x1234, 0x1234}},
		{"\x03\x88\xc6\xfa", 8, 3, []uint32{0, 1, 2, 3, 4, 5, 6, 7}}, // the example of the specification
		{"\x03\x88\xc6\xfa", 5, 3, []uint32{0, 1, 2, 3, 4}},
		{"\x03\x88\xc6\xfa\x04\x07", 10, 3, []uint32{0, 1, 2, 3, 4, 5, 6, 7, 7, 7}},
		{"\x64\x05", 2, 3, []uint32{5, 5}}, // a run longer than needed
		{"\x04", 2, 0, []uint32{0, 0}},
		{"\x03" + strings.Repeat("\x01\x00\x00\x00", 8), 2, 32, []uint32{1, 1}},
	} {
		got, f := hybrid(nil, []byte(c.src), c.n, c.width)
		require.Nil(t, f, "%q", c.src)
		require.Equal(t, c.want, got, "%q", c.src)
	}
	for _, c := range []struct {
		src      string
		n, width int
	}{{"", 1, 3}, {"\x06", 3, 3}, {"\x06\x34", 3, 12}, {"\x03\x88\xc6", 8, 3}, {"\x01", 1, 3}, {"\x00\x05", 1, 3}} {
		_, f := hybrid(nil, []byte(c.src), c.n, c.width)
		require.NotNil(t, f, "%q", c.src)
	}
	levels, f := pqLevels(nil, []byte("\x06\x02"), 3, 2)
	require.Nil(t, f)
	require.Equal(t, []uint32{2, 2, 2}, levels)
	_, f = pqLevels(nil, []byte("\x06\x03"), 3, 2)
	require.NotNil(t, f, "a level above the column's")
}

func TestCutHeadersOfNPY(t *testing.T) {
	whole := npyFile(2, "<i4", 1, 2, 5, 6)
	for n := range 40 {
		_, f := readNPYHeader(bytes.NewReader(whole[:n]))
		require.NotNil(t, f, "%d bytes", n)
	}
	h, f := readNPYHeader(bytes.NewReader(whole))
	require.Nil(t, f)
	require.Equal(t, []int64{1, 2}, h.shape)
	require.Equal(t, 4, h.word)
	require.Equal(t, int64(len(whole)-8), h.begin)
}
