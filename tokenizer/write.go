package tokenizer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
)

// SpecialToken is a token that represents no text.
type SpecialToken struct {
	ID   int32
	Text string // text that represents the token, such as <|eot_id|>
}

// WriteWords writes a tokenizer.json for a vocabulary of words without merges. It splits a text like Llama-3. A piece
// that is a word becomes one id. Any other piece becomes one id per byte, so the vocabulary must contain all 256 single
// bytes. The first special token is put before a text.
func WriteWords(w io.Writer, vocabulary iter.Seq2[int32, string], special []SpecialToken) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, `{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [`)
	for i, s := range special {
		fmt.Fprintf(out, "%s\n  {\"id\": %d, \"content\": %s, \"single_word\": false, \"lstrip\": false, \"rstrip\": "+
			"false, \"normalized\": false, \"special\": true}",
			comma(i), s.ID, quoted(s.Text))
	}
	fmt.Fprintf(out, `],
"normalizer": null,
"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
  {"type": "Split", "pattern": {"Regex": %s}, "behavior": "Isolated", "invert": false},
  {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
"post_processor": `, quoted(patternLlama3))
	if len(special) == 0 {
		fmt.Fprintf(out, "null")
	} else {
		begin, id := quoted(special[0].Text), special[0].ID
		fmt.Fprintf(out, `{"type": "TemplateProcessing",
  "single": [{"SpecialToken": {"id": %[1]s, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
  "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
  "special_tokens": {%[1]s: {"id": %[1]s, "ids": [%[2]d], "tokens": [%[1]s]}}}`, begin, id)
	}
	fmt.Fprintf(out, `,
"decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
  "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": true, "vocab": {`)
	n := 0
	for id, text := range vocabulary {
		fmt.Fprintf(out, "%s\n  %s: %d", comma(n), quoted(letters(text)), id)
		n++
	}
	fmt.Fprintf(out, "}, \"merges\": []}}\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("cannot write a tokenizer.json of %d tokens: %w", n, err)
	}
	return nil
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// quoted returns text as a JSON string.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // encoding a string to memory cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// letters converts raw bytes to the notation of a byte-level vocabulary.
func letters(raw string) string {
	var b strings.Builder
	for i := range len(raw) {
		b.WriteRune(byteLetters[raw[i]])
	}
	return b.String()
}
