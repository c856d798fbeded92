package tokenizer

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Parts of a file used by the tests below.
func typed(kind string, members ...any) object {
	o := object{"type": kind}
	for i := 0; i < len(members); i += 2 {
		o[members[i].(string)] = members[i+1]
	}
	return o
}

// small returns the tokenizer of a file with few characters and one merge, with the given changes.
func small(t testing.TB, change func(file, model object)) *Tokenizer {
	t.Helper()
	vocab := map[string]int32{"a": 0, "b": 1, "ab": 2, "▁": 3, " ": 4, "é": 5, "e": 6, "\u0301": 7, "1": 8, "2": 9,
		"▁a": 10, "c": 11, "abc": 12}
	model := object{"type": "BPE", "vocab": vocab, "merges": []string{"a b"}}
	file := object{"model": model, "added_tokens": []any{object{"id": 20, "content": "<end>", "special": true}}}
	change(file, model)
	return parsed(t, asFile(t, file), nil)
}

// TestEachPartEncodes has one row for each part of a file that changes ids
// (docs/reference/benchmarks.md#tokenizer-files), except for parts with a test of their own.
func TestEachPartEncodes(t *testing.T) {
	part := func(where string, o object) func(file, model object) {
		return func(file, _ object) { file[where] = o }
	}
	model := func(key string, value any) func(file, model object) {
		return func(_, model object) { model[key] = value }
	}
	sequence := func(where string, steps ...any) object { return typed("Sequence", where, steps) }
	replace := func(pattern object, content string) object {
		return typed("Replace", "pattern", pattern, "content", content)
	}
	for _, c := range []struct {
		name   string
		change func(file, model object)
		text   string
		want   []int32
	}{
		{"none", func(_, _ object) {}, "ab é", []int32{2, 4, 5}},
		{"NFC", part("normalizer", typed("NFC")), "e\u0301", []int32{5}},
		{"NFD", part("normalizer", typed("NFD")), "é", []int32{6, 7}},
		{"NFKC", part("normalizer", typed("NFKC")), "ａｂe\u0301", []int32{2, 5}},
		{"NFKD", part("normalizer", typed("NFKD")), "ａｂé", []int32{2, 6, 7}},
		{"Prepend", part("normalizer", typed("Prepend", "prepend", "b")), "a", []int32{1, 0}},
		{"Prepend before nothing", part("normalizer", typed("Prepend", "prepend", "b")), "", []int32{}},
		{"Replace of a string", part("normalizer", replace(object{"String": " "}, "▁")), "a a", []int32{0, 3, 0}},
		{"Replace of an expression", part("normalizer", replace(object{"Regex": patternDigit}, "e")), "a1b2",
			[]int32{0, 6, 1, 6}},
		{"normalizers in their order", part("normalizer",
			sequence("normalizers", typed("Prepend", "prepend", "a"), replace(object{"String": "a"}, "b"))), "ab",
			[]int32{1, 1, 1}},
		{"Split", part("pre_tokenizer", typed("Split", "pattern", object{"String": "b"}, "behavior", "Isolated")), "ab",
			[]int32{0, 1}},
		{"pre-tokenizers in their order", part("pre_tokenizer", sequence("pretokenizers",
			typed("Split", "pattern", object{"String": " "}, "behavior", "Removed"),
			typed("Digits", "individual_digits", true))), "ab 12", []int32{2, 8, 9}},
		{"Metaspace", part("pre_tokenizer", typed("Metaspace", "replacement", "▁", "prepend_scheme", "never")), "b a",
			[]int32{1, 3, 0}},
		{"merges in pairs", model("merges", []any{[]string{"a", "b"}}), "ab", []int32{2}},
		{"ignore_merges", model("ignore_merges", true), "abc", []int32{12}},
		{"without ignore_merges", model("ignore_merges", false), "abc", []int32{2, 11}},
		{"ByteLevel after the text", part("post_processor", typed("ByteLevel")), "ab", []int32{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, small(t, c.change).Encode(c.text, true))
		})
	}
}

// TestByteLevel checks the settings of ByteLevel: splitting, and the space that it puts before a text.
func TestByteLevel(t *testing.T) {
	level := func(prefix, cut bool) *Tokenizer {
		vocab := map[string]int32{}
		for b := range 256 {
			vocab[letters(string([]byte{byte(b)}))] = int32(b)
		}
		vocab["a1"] = 256
		return parsed(t, asFile(t, object{"pre_tokenizer": typed("ByteLevel", "add_prefix_space", prefix, "use_regex", cut),
			"decoder": typed("ByteLevel"),
			"model":   object{"type": "BPE", "vocab": vocab, "merges": []string{"a 1"}}}), nil)
	}
	require.Equal(t, []int32{' ', 'a', '1'}, level(true, true).Encode("a1", false))
	require.Equal(t, []int32{' ', 256}, level(true, false).Encode(" a1", false))
	require.Equal(t, []int32{'a', '1'}, level(false, true).Encode("a1", false), "letters and digits are two pieces")
	require.Equal(t, []int32{256}, level(false, false).Encode("a1", false))
	require.Equal(t, "世\ufffd", level(false, false).Decode([]int32{0xe4, 0xb8, 0x96, 0xff}, false))
}

// TestEachPartDecodes has one row for each decoder.
func TestEachPartDecodes(t *testing.T) {
	sequence := func(steps ...any) object { return typed("Sequence", "decoders", steps) }
	space := typed("Replace", "pattern", object{"String": "▁"}, "content", " ")
	for _, c := range []struct {
		name    string
		decoder object
		ids     []int32
		want    string
	}{
		{"none", nil, []int32{0, 1}, "a b"},
		{"Replace", space, []int32{10, 3, 1}, " a b"},
		{"Fuse", typed("Fuse"), []int32{0, 10}, "a▁a"},
		{"Strip of each token", typed("Strip", "content", "a", "start", 1), []int32{2, 0, 1}, "bb"},
		{"Strip of the whole text", sequence(space, typed("Fuse"), typed("Strip", "content", " ", "start", 1)),
			[]int32{10, 10}, "a a"},
		{"Metaspace", typed("Metaspace", "replacement", "▁", "prepend_scheme", "always"), []int32{10, 10}, "a a"},
		{"Metaspace without one before", typed("Metaspace", "replacement", "▁", "prepend_scheme", "never"), []int32{10, 10},
			" a a"},
		{"special tokens", typed("Fuse"), []int32{0, 20, 1}, "ab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok := small(t, func(file, _ object) {
				if c.decoder != nil {
					file["decoder"] = c.decoder
				}
			})
			require.Equal(t, c.want, tok.Decode(c.ids, true))
			require.Equal(t, c.want, streamed(tok, c.ids, true))
		})
	}
	fused := small(t, func(file, _ object) { file["decoder"] = typed("Fuse") })
	require.Equal(t, "a<end>b", fused.Decode([]int32{0, 20, 1}, false))
}

// TestThePageNamesTests reads the page's table of parts and requires that the tests it names exist here.
func TestThePageNamesTests(t *testing.T) {
	page, err := os.ReadFile("../docs/how-to/accuracy.md")
	require.NoError(t, err)
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var here []byte
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		here = append(here, b...)
	}
	_, table, found := strings.Cut(string(page), "| Part of `tokenizer.json` |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	named := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(table, -1)
	require.Greater(t, len(named), 12)
	for _, m := range named {
		require.Contains(t, string(here), "func "+m[1]+"(", "docs/how-to/accuracy.md names %s", m[1])
	}
}

// A token means a byte if it has exactly the form <0xHH>.
func TestTokensOfBytes(t *testing.T) {
	for token, want := range map[string]int16{"<0x00>": 0, "<0x0A>": 10, "<0xff>": 255, "<0xFF>": 255, "<0x0G>": -1,
		"<0x0A": -1, "<0x0A]": -1, "<0x0A>>": -1, "<0X0A>": -1, "0x0A>>": -1, "<0x+1>": -1, "<0xA>": -1, "": -1} {
		require.Equal(t, want, fallbackByte(token), token)
	}
}

// A text is cut before each mark after another character, and only its first part is the first.
func TestCutsBeforeMarks(t *testing.T) {
	for text, want := range map[string][]string{"": nil, "a": {"a"}, "▁a▁b": {"▁a", "▁b"}, "a▁▁b▁": {"a", "▁▁b", "▁"},
		"▁▁": {"▁▁"}, "ab": {"ab"}} {
		for _, first := range []bool{true, false} {
			var got []string
			cutMarks(piece{text, first}, func(p piece) {
				require.Equal(t, first && len(got) == 0, p.first, text)
				got = append(got, p.text)
			})
			require.Equal(t, want, got, text)
		}
	}
}

func TestFirstPieceOfLlama3(t *testing.T) {
	for text, want := range map[string]int{"Hello world": 5, " world": 6, "1234": 3, "it's": 2, "'s it": 2, "\n\na": 2,
		"é!": 2, "!?": 2} {
		require.Equal(t, want, Llama3Piece(text), text)
	}
}
