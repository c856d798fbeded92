package tokenizer

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// slowMerge is the simplest implementation of merging.
func slowMerge(m *bpe, text string) []int32 {
	var s scratch
	m.firstSymbols(text, &s)
	ids := []int32{}
	for _, symbol := range s.symbols {
		ids = append(ids, symbol.id)
	}
	for {
		best, at := merge{}, -1
		for i := 0; i+1 < len(ids); i++ {
			if found, ok := m.merges.get(ids[i], ids[i+1]); ok && (at < 0 || found.rank < best.rank) {
				best, at = found, i
			}
		}
		if at < 0 {
			return ids
		}
		ids = append(ids[:at], ids[at+1:]...)
		ids[at] = best.id
	}
}

func TestMergesLowestRankFirst(t *testing.T) {
	vocab, _ := trained([]string{"a", "b", "c"}, []string{"abcab", "bcab", "cab", "bca", "aab"})
	var tokens []string
	for token := range vocab {
		tokens = append(tokens, token)
	}
	rapid.Check(t, func(r *rapid.T) {
		merges := [][2]string{}
		for range rapid.IntRange(0, 12).Draw(r, "merges") {
			pair := [2]string{rapid.SampledFrom(tokens).Draw(r, "left"), rapid.SampledFrom(tokens).Draw(r, "right")}
			if _, ok := vocab[pair[0]+pair[1]]; ok {
				merges = append(merges, pair)
			}
		}
		tok := parsed(t, asFile(t, object{"model": object{"type": "BPE", "vocab": vocab, "merges": merges}}), nil)
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abcd")), 0, 40, -1).Draw(r, "text")
		require.Equal(r, slowMerge(&tok.model, text), tok.AppendIDs([]int32{}, text, false))
	})
}

func TestByteLevelRoundTrip(t *testing.T) {
	tok := parsed(t, spelled(t), nil)
	rapid.Check(t, func(r *rapid.T) {
		text := anyText().Draw(r, "text")
		require.Equal(r, text, tok.Decode(tok.Encode(text, true), false))
	})
	require.Equal(t, 1, len(tok.Encode(" notes", false)), "a word of the vocabulary is one token")
}

func TestSentencePiece(t *testing.T) {
	tok := parsed(t, sentencePiece(t, nil), nil)
	tokens := func(text string) string {
		var all []string
		for _, id := range tok.Encode(text, true) {
			token, ok := tok.Token(id)
			require.True(t, ok)
			all = append(all, token)
		}
		return strings.Join(all, " ")
	}
	require.Equal(t, "<s> ▁hello ▁the ▁world", tokens("hello the world"))
	require.Equal(t, "<s> ▁ é <0xE4> <0xB8> <0x96> ▁▁ ▁the", tokens("é世   the"))
	require.Equal(t, "<s> ▁hello </s> ▁the", tokens("hello</s>the"),
		"each stretch between special tokens is prepared by itself")
	require.Equal(t, "<s>", tokens(""))
	rapid.Check(t, func(r *rapid.T) {
		text := strings.ReplaceAll(anyText().Draw(r, "text"), "<", "")
		require.Equal(r, text, tok.Decode(tok.Encode(text, true), true))
	})
}

func TestUnknownCharacters(t *testing.T) {
	unk := int32(0)
	for _, c := range []struct {
		name   string
		change func(file, model object)
		want   []int32
	}{
		{"fused", func(_, m object) { m["byte_fallback"] = false }, []int32{unk}},
		{"each", func(_, m object) { m["byte_fallback"], m["fuse_unk"] = false, false }, []int32{unk, unk}},
		{"left out", func(_, m object) { m["byte_fallback"] = false; delete(m, "unk_token") }, []int32{}},
		{"a byte is missing", func(_, m object) { delete(m["vocab"].(map[string]int32), "<0xB8>") }, []int32{unk}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok := parsed(t, sentencePiece(t, func(file, model object) { delete(file, "normalizer"); c.change(file, model) }),
				nil)
			require.Equal(t, c.want, tok.AppendIDs([]int32{}, "世丸", false))
			e, _ := tok.ID("e")
			require.Equal(t, append(append([]int32{e}, c.want...), e), tok.Encode("e世丸e", false))
		})
	}
}

func TestAddedTokens(t *testing.T) {
	add := func(id int, content string, flags ...string) object {
		o := object{"id": id, "content": content}
		for _, f := range flags {
			o[f] = true
		}
		return o
	}
	tok := parsed(t, asFile(t, object{
		"added_tokens": []any{add(10, "<a>"), add(11, "<a><b>"), add(12, "<l>", "lstrip"), add(13, "<r>", "rstrip"),
			add(14, "own", "single_word"), add(15, "né", "normalized"), add(16, "ne\u0301")},
		"normalizer": object{"type": "NFC"},
		"model": object{"type": "BPE", "vocab": map[string]int32{"x": 0, " ": 1, "n": 2, "o": 3, "w": 4, "é": 5},
			"merges": []string{}},
	}), nil)
	for text, want := range map[string][]int32{
		"<a><b><a>x":  {11, 10, 0},
		"<a><a><b":    {10, 10},
		"x  <l> x":    {0, 12, 1, 0},
		"x <r>  x":    {0, 1, 13, 0},
		"<r>  <l>":    {13, 12},
		"own x":       {14, 1, 0},
		"xown own.":   {0, 3, 4, 2, 1, 14},
		"ownx":        {3, 4, 2, 0},
		"né":          {15},
		"ne\u0301":    {16},
		"e\u0301":     {5},
		"xne\u0301né": {0, 16, 15},
	} {
		require.Equal(t, want, tok.Encode(text, false), text)
	}
	require.Equal(t, 17, tok.VocabSize())
	id, ok := tok.ID("<a>")
	require.True(t, ok)
	require.Equal(t, int32(10), id)
	_, ok = tok.ID("<none>")
	require.False(t, ok)
	_, ok = tok.Token(9)
	require.False(t, ok)
	_, ok = tok.Token(-1)
	require.False(t, ok)
	require.False(t, tok.Special(10))
	require.Equal(t, "x <a>", tok.Decode([]int32{0, 10, 9, 99, -4}, true), "without a decoder, spaces go between tokens")
}

func TestNestedTemplates(t *testing.T) {
	template := func(id int, after bool) object {
		p := []any{object{"SpecialToken": object{"id": "t"}}, object{"Sequence": object{"id": "A"}}}
		if after {
			p[0], p[1] = p[1], p[0]
		}
		return object{"type": "TemplateProcessing", "single": p, "special_tokens": object{"t": object{"ids": []int{id}}}}
	}
	tok := parsed(t, asFile(t, object{
		"post_processor": object{"type": "Sequence",
			"processors": []any{object{"type": "ByteLevel"}, template(1, false), template(2, false), template(3, true),
				template(4, true)}},
		"model": object{"type": "BPE", "vocab": map[string]int32{"x": 0, "1": 1, "2": 2, "3": 3, "4": 4},
			"merges": []string{}},
	}), nil)
	require.Equal(t, []int32{2, 1, 0, 3, 4}, tok.Encode("x", true))
	require.Equal(t, []int32{0}, tok.Encode("x", false))
}

func TestConcurrentUse(t *testing.T) {
	tok := parsed(t, spelled(t), nil)
	text := proseText()[:2000]
	want := tok.Encode(text, false)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				if got := tok.Decode(tok.Encode(text, false), true); got != text {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	wait.Wait()
	require.Equal(t, want, tok.Encode(text, false))
}

func FuzzEncode(f *testing.F) {
	for _, s := range somewhere {
		f.Add(s)
	}
	f.Add("<s> hello</s>  世\xff")
	byteLevel, pieces := parsed(f, spelled(f), nil), parsed(f, sentencePiece(f, nil), nil)
	f.Fuzz(func(t *testing.T, text string) {
		require.Equal(t, validText([]byte(text)), byteLevel.Decode(byteLevel.Encode(text, true), false))
		for _, tok := range []*Tokenizer{byteLevel, pieces} {
			ids := tok.Encode(text, true)
			for _, id := range ids {
				require.True(t, tok.has(id))
			}
			require.True(t, utf8.ValidString(tok.Decode(ids, false)))
		}
	})
}
