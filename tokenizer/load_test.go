package tokenizer

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnsupportedPartsAreNamed(t *testing.T) {
	nested := func(depth int) string {
		return strings.Repeat(`{"type": "Sequence", "normalizers": [`, depth) + `{"type": "NFC"}` + strings.Repeat("]}",
			depth)
	}
	const model = `"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}`
	for _, c := range []struct{ name, file, want string }{
		{"no JSON", `{`, "cannot use the tokenizer in memory: it is not a valid tokenizer.json: unexpected end of JSON " +
			"input; download the file again"},
		{"no object", `[]`, "it is not a valid tokenizer.json"},
		{"no model", `{}`, "model: it is missing"},
		{"WordPiece", `{"model": {"type": "WordPiece", "vocab": {}}}`,
			`model: it is of type "WordPiece", which is not supported; use the server's own tokenizer`},
		{"Unigram", `{"model": {"type": "Unigram", "vocab": [["<unk>", 0]]}}`,
			"it is not a valid tokenizer.json: vocabulary"},
		{"dropout", `{"model": {"type": "BPE", "vocab": {}, "merges": [], "dropout": 0.1}}`, "it has a dropout of 0.1"},
		{"prefix", `{"model": {"type": "BPE", "vocab": {}, "merges": [], "continuing_subword_prefix": "##"}}`,
			`it has the continuing_subword_prefix "##"`},
		{"suffix", `{"model": {"type": "BPE", "vocab": {}, "merges": [], "end_of_word_suffix": "</w>"}}`,
			`it has the end_of_word_suffix "</w>"`},
		{"unknown", `{"model": {"type": "BPE", "vocab": {}, "merges": [], "unk_token": "<unk>"}}`,
			`the unk_token "<unk>" is not in the vocabulary`},
		{"merge out of the vocabulary", `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}}`,
			`merge 0 of "a" and "a" uses tokens that are not in the vocabulary`},
		{"merge of one", `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["aa"]}}`,
			`merge "aa", expected two tokens`},
		{"merge of three", `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "a", "a"]]}}`,
			`a merge has 3 tokens`},
		{"id too high", `{"model": {"type": "BPE", "vocab": {"a": 2147483647}, "merges": []}}`,
			`token "a" has the id 2147483647, expected an integer from 0 to 2097151`},
		{"id of a text", `{"model": {"type": "BPE", "vocab": {"a": "0"}, "merges": []}}`,
			`token "a" has the id 0, expected an integer`},
		{"same id", `{"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}}`,
			`two tokens of its vocabulary have the id 0`},
		{"long token", `{"model": {"type": "BPE", "vocab": {"` + strings.Repeat("a", 20000) + `": 0}, "merges": []}}`,
			`is longer than 16384 bytes`},
		{"added id", `{"added_tokens": [{"id": -1, "content": "x"}], ` + model + `}`,
			`id -1 of "x" is not from 0 to 2097151`},
		{"added twice", `{"added_tokens": [{"id": 3, "content": "x"}, {"id": 4, "content": "x"}], ` + model + `}`,
			`"x" has the ids 3 and 4`},
		{"added over another", `{"added_tokens": [{"id": 1, "content": "x"}], ` + model + `}`,
			`"b" and "x" have the same id 1`},
		{"added too long", `{"added_tokens": [{"id": 3, "content": "` + strings.Repeat("x", 300) + `"}], ` + model + `}`,
			`has more than 256 bytes`},
		{"normalizer", `{"normalizer": {"type": "Lowercase"}, ` + model + `}`,
			`normalizer: it has a step of type "Lowercase", which is not supported`},
		{"normalizer without a type", `{"normalizer": {}, ` + model + `}`, `it has a step of type ""`},
		{"too deep", `{"normalizer": ` + nested(9) + `, ` + model + `}`,
			`its Sequences are nested deeper than 8`},
		{"too many steps", `{"normalizer": {"type": "Sequence", "normalizers": [` + strings.Repeat(`{"type": "NFC"},`, 64) +
			`{"type": "NFC"}]}, ` + model + `}`, `array of more than 64 elements`},
		{"growth", `{"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "` + strings.Repeat("a", 65) +
			`"}, ` + model + `}`, `its Replace steps could make a text more than 64 times longer`},
		{"no pattern", `{"normalizer": {"type": "Replace", "content": "a"}, ` + model + `}`,
			`a step has no pattern of type String or Regex`},
		{"empty pattern", `{"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "a"}, ` + model + `}`,
			`a step has an empty pattern`},
		{"long prefix", `{"normalizer": {"type": "Prepend", "prepend": "` + strings.Repeat("a", 300) + `"}, ` + model + `}`,
			`its Prepend is longer than 256 bytes`},
		{"pre-tokenizer", `{"pre_tokenizer": {"type": "BertPreTokenizer"}, ` + model + `}`,
			`pre_tokenizer: it has a step of type "BertPreTokenizer"`},
		{"pattern", `{"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\w+"}, "behavior": "Isolated"}, ` + model +
			`}`, `its regular expression "\\w+" is not a known split pattern`},
		{"behaviour", `{"pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Shuffled"}, ` + model +
			`}`, `its Split has the behaviour "Shuffled"`},
		{"after bytes", `{"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Digits"}]}, ` + model + `}`, `it has a step of type "Digits" after ByteLevel`},
		{"metaspace", `{"pre_tokenizer": {"type": "Metaspace", "replacement": "ab"}, ` + model + `}`,
			`its Metaspace has the replacement "ab", expected one character`},
		{"metaspace's scheme", `{"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"}, ` +
			model + `}`, `its Metaspace has the prepend_scheme "last"`},
		{"metaspace against itself", `{"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "add_prefix_space": false}, ` + model + `}`, `its Metaspace has add_prefix_space false and prepend_scheme "first"`},
		{"post-processor", `{"post_processor": {"type": "BertProcessing"}, ` + model + `}`,
			`post_processor: it has a step of type "BertProcessing"`},
		{"template without text", `{"post_processor": {"type": "TemplateProcessing", "single": []}, ` + model + `}`,
			`its template for single texts has no sequence A`},
		{"template of two", `{"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}]}, ` +
			model + `}`, `its template for single texts has a piece other than`},
		{"template's token", `{"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}]}, ` + model + `}`, `its template uses the token "x"`},
		{"template's id", `{"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {"x": {"ids": [7]}}}, ` + model + `}`, `its token "x" has the unused id 7`},
		{"decoder", `{"decoder": {"type": "WordPiece"}, ` + model + `}`, `decoder: it has a step of type "WordPiece"`},
		{"decoder's order", `{"decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Strip", "content": "a"}]}, ` + model + `}`, `it has a step of type "Strip" after ByteFallback`},
		{"replacing in the whole text", `{"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "a"}}]}, ` + model + `}`, `it has a step of type "Replace" after Fuse`},
		{"strip", `{"decoder": {"type": "Strip", "content": ""}, ` + model + `}`,
			`its Strip has the content "", expected one character`},
		{"negative strip", `{"decoder": {"type": "Strip", "content": "a", "start": -1}, ` + model + `}`,
			`its Strip has start -1 and stop 0`},
		{"two strips", `{"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": "a"}, {"type": "Strip", "content": "a"}]}, ` + model + `}`, `it has two steps of type "Strip" after Fuse`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.file), nil)
			require.ErrorContains(t, err, c.want)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// Every part of the file may be a Sequence, and no Sequence may be nested too deeply.
func TestDeepPartsAreNamed(t *testing.T) {
	const depth = 100
	for _, part := range []string{"normalizer", "pre_tokenizer", "post_processor", "decoder"} {
		_, err := Parse([]byte(`{"`+part+`": `+strings.Repeat(`{"type": "Sequence", "decoders": [`, depth)+
			strings.Repeat("]}", depth)+`, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}`), nil)
		require.ErrorContains(t, err, part+": its Sequences are nested deeper than")
	}
}

// A Replace step lengthens a text by at most the length of its content divided by the length of the match.
func TestGrowthIsThatOfTheMatch(t *testing.T) {
	for length, ok := range map[int]bool{128: true, 129: false} {
		_, err := Parse([]byte(`{"normalizer": {"type": "Replace", "pattern": {"String": "ab"}, "content": "`+
			strings.Repeat("a", length)+`"}, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}`), nil)
		require.Equal(t, ok, err == nil, "%d bytes for 2: %v", length, err)
	}
}

func TestOpen(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "tokenizer.json")
	_, err := Open(path)
	require.ErrorContains(t, err, "cannot use tokenizer "+path+": it cannot be read")
	require.ErrorIs(t, err, fs.ErrNotExist)

	require.NoError(t, os.WriteFile(path, spelled(t), 0o600))
	for _, name := range []string{path, folder} {
		tok, err := Open(name)
		require.NoError(t, err)
		require.Equal(t, "a .", tok.Decode(tok.Encode("a .", false), true))
	}
	config := filepath.Join(folder, "tokenizer_config.json")
	require.NoError(t, os.WriteFile(config, []byte(`{"clean_up_tokenization_spaces": true}`), 0o600))
	tok, err := Open(path)
	require.NoError(t, err)
	require.Equal(t, "a.", tok.Decode(tok.Encode("a .", false), true))

	require.NoError(t, os.WriteFile(config, []byte(`{"clean_up_tokenization_spaces": "yes"}`), 0o600))
	_, err = Open(path)
	require.ErrorContains(t, err, "cannot use tokenizer "+path+", tokenizer_config.json: it is not valid JSON")

	require.NoError(t, os.Remove(config))
	require.NoError(t, os.Truncate(path, mostFileBytes+1))
	_, err = Open(path)
	require.ErrorContains(t, err, "it cannot be read: it has more than 67108864 bytes")
}

func TestWriteWords(t *testing.T) {
	var file bytes.Buffer
	words := func(yield func(int32, string) bool) {
		for b := range 256 {
			if !yield(int32(b), string([]byte{byte(b)})) {
				return
			}
		}
		yield(300, " world\"")
		yield(301, "hello")
	}
	require.NoError(t, WriteWords(&file, words, nil))
	tok := parsed(t, file.Bytes(), nil)
	require.Equal(t, []int32{301, ' ', 'w', 'o', 'r', 'l', 'd', '"'}, tok.Encode("hello world\"", true),
		"a piece has letters or marks")
	require.Equal(t, "hello world\"", tok.Decode([]int32{301, 300, 299}, true))

	file.Reset()
	require.NoError(t, WriteWords(&file, words, []SpecialToken{{ID: 400, Text: "<\"begin\">"}, {ID: 401, Text: "<end>"}}))
	tok = parsed(t, file.Bytes(), nil)
	require.Equal(t, []int32{400, 301, 401}, tok.Encode("hello<end>", true))
	require.Equal(t, "hello", tok.Decode([]int32{400, 301, 401}, true))

	require.ErrorContains(t, WriteWords(fullDisk{}, words, nil),
		"cannot write a tokenizer.json of 258 tokens: no space left")
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func FuzzParse(f *testing.F) {
	f.Add(spelled(f))
	f.Add(sentencePiece(f, nil))
	f.Add(sentencePiece(f, func(file, _ object) {
		m := object{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}
		delete(file, "normalizer")
		file["pre_tokenizer"], file["decoder"] = m, m
	}))
	f.Add([]byte(`{"model":{"vocab":{"a":0,"b":1,"ab":9},"merges":["a b"]},"added_tokens":[{"id":4,"content":" x","rstrip":true,"lstrip":true}],"pre_tokenizer":{"type":"Digits"}}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		tok, err := Parse(file, nil)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			return
		}
		ids := append(tok.Encode("a  b x 世\xff 12", true), 0, 1, -1, int32(tok.VocabSize()))
		require.Equal(t, tok.Decode(ids, true), streamed(tok, ids, true))
	})
}
