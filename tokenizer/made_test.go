package tokenizer

import (
	"encoding/json"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// trained returns a small vocabulary: the symbols, and for each word the prefixes that merging from the left produces.
func trained(symbols, words []string) (vocab map[string]int32, merges []string) {
	vocab = map[string]int32{}
	add := func(token string) bool {
		_, ok := vocab[token]
		if !ok {
			vocab[token] = int32(len(vocab))
		}
		return !ok
	}
	for _, s := range symbols {
		add(s)
	}
	sort.Strings(words)
	for _, word := range words {
		runes := []rune(word)
		for n := 2; n <= len(runes); n++ {
			left, right := string(runes[:n-1]), string(runes[n-1:n])
			add(right)
			if add(left + right) {
				merges = append(merges, left+" "+right)
			}
		}
	}
	return vocab, merges
}

// object is a JSON object.
type object = map[string]any

func split(expression string) object {
	return object{"type": "Split", "pattern": object{"Regex": expression}, "behavior": "Isolated", "invert": false}
}

var bytesAlone = object{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}

// spelled returns a byte-level tokenizer.json whose vocabulary contains some words of proseText.
func spelled(t testing.TB) []byte {
	t.Helper()
	var symbols, words []string
	for b := range 256 {
		symbols = append(symbols, letters(string([]byte{byte(b)})))
	}
	for i, word := range strings.Fields(proseText()[:400]) {
		if i%3 > 0 {
			words = append(words, letters(" "+strings.Trim(word, ".,;")))
		}
	}
	vocab, merges := trained(symbols, words)
	return asFile(t, object{
		"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []any{split(patternQwen2), bytesAlone}},
		"decoder":       object{"type": "ByteLevel"},
		"model":         object{"type": "BPE", "vocab": vocab, "merges": merges},
	})
}

// sentencePiece returns a tokenizer.json of the Llama-2 family with the given changes.
func sentencePiece(t testing.TB, change func(file, model object)) []byte {
	t.Helper()
	symbols := []string{"<unk>", "<s>", "</s>"}
	for b := range 256 {
		symbols = append(symbols, byteToken(b))
	}
	vocab, merges := trained(append(symbols, "▁", "▁▁", "e", "s", "é"), []string{"▁hello", "▁the", "▁world", "▁harbour"})
	model := object{"type": "BPE", "vocab": vocab, "merges": append(merges, "▁ ▁"), "unk_token": "<unk>", "fuse_unk": true,
		"byte_fallback": true}
	special := func(id int, content string) object {
		return object{"id": id, "content": content, "special": true}
	}
	file := object{
		"added_tokens": []any{special(0, "<unk>"), special(1, "<s>"), special(2, "</s>")},
		"normalizer": object{"type": "Sequence", "normalizers": []any{
			object{"type": "Prepend", "prepend": "▁"},
			object{"type": "Replace", "pattern": object{"String": " "}, "content": "▁"}}},
		"post_processor": object{"type": "TemplateProcessing",
			"single":         []any{object{"SpecialToken": object{"id": "<s>"}}, object{"Sequence": object{"id": "A"}}},
			"special_tokens": object{"<s>": object{"id": "<s>", "ids": []int{1}}}},
		"decoder": object{"type": "Sequence", "decoders": []any{
			object{"type": "Replace", "pattern": object{"String": "▁"}, "content": " "}, object{"type": "ByteFallback"},
			object{"type": "Fuse"},
			object{"type": "Strip", "content": " ", "start": 1, "stop": 0}}},
		"model": model,
	}
	if change != nil {
		change(file, model)
	}
	return asFile(t, file)
}

func asFile(t testing.TB, file object) []byte {
	t.Helper()
	b, err := json.Marshal(file)
	require.NoError(t, err)
	return b
}

func parsed(t testing.TB, file, config []byte) *Tokenizer {
	t.Helper()
	tok, err := Parse(file, config)
	require.NoError(t, err)
	return tok
}
