package tokenizer

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// Each character has the classes of its Unicode categories, in both ways that find them.
func TestClassesOfEveryCharacter(t *testing.T) {
	tables := map[class][]*unicode.RangeTable{
		classUpper: {unicode.Lu, unicode.Lt}, classLower: {unicode.Ll}, classCaseless: {unicode.Lm, unicode.Lo},
		classMark: {unicode.Mn, unicode.Mc, unicode.Me}, classNumber: {unicode.Nd, unicode.Nl, unicode.No},
		classPunct: {unicode.P}, classSymbol: {unicode.S},
	}
	step := rune(1)
	for r := rune(0); r <= unicode.MaxRune; r += step {
		if r == 0x20000 {
			step = 7
		}
		if !utf8.ValidRune(r) {
			continue
		}
		var want class
		for bits, in := range tables {
			if unicode.In(r, in...) {
				want |= bits
			}
		}
		if unicode.IsSpace(r) {
			want |= classSpace
		}
		if r == '\n' || r == '\r' {
			want |= classBreak
		}
		if r >= 0x4e00 && r <= 0x9fa5 || r >= 0x3040 && r <= 0x309f || r >= 0x30a0 && r <= 0x30ff {
			want |= classCJK
		}
		if got, size := classAt("x"+string(r), 1); got != want || size != utf8.RuneLen(r) {
			t.Fatalf("%U has the classes %b in %d bytes, expected %b in %d", r, got, size, want, utf8.RuneLen(r))
		}
	}
}

// The quick way to make each match a piece has the result of a Split with the behaviour Isolated.
func TestIsolateIsASplit(t *testing.T) {
	for expression, scan := range knownPatterns {
		split := splitter{find: scan.finder(), joins: behaviors["Isolated"]}.step
		rapid.Check(t, func(t *rapid.T) {
			p := piece{anyText().Draw(t, "text"), rapid.Bool().Draw(t, "first")}
			var want, got []piece
			split(p, func(q piece) { want = append(want, q) })
			isolate(scan)(p, func(q piece) { got = append(got, q) })
			require.Equal(t, want, got, expression)
			for i, q := range got {
				require.Equal(t, p.first && i == 0, q.first, expression)
			}
		})
	}
}

// Added tokens are found as a search at each place finds them: the leftmost, and there the longest and first added.
func TestAddedTokensInAnyText(t *testing.T) {
	letters := rapid.SampledFrom([]rune("aab_ \u00a0é\u200d."))
	rapid.Check(t, func(t *rapid.T) {
		var m matcher
		var tokens []addedToken
		for i := range rapid.IntRange(0, 5).Draw(t, "tokens") {
			token := addedToken{ID: int32(i), Content: rapid.StringOfN(letters, 0, 3, -1).Draw(t, "content"),
				SingleWord: rapid.Bool().Draw(t, "single"), LStrip: rapid.Bool().Draw(t, "left"),
				RStrip: rapid.Bool().Draw(t, "right")}
			m.add(token.Content, token)
			tokens = append(tokens, token)
		}
		text := rapid.StringOfN(letters, 0, 15, -1).Draw(t, "text")
		var got []string
		m.split(text, func(start, end int) { got = append(got, text[start:end]) },
			func(id int32) { got = append(got, fmt.Sprint(id)) })
		require.Equal(t, searched(tokens, text), got, "%v in %q", tokens, text)
	})
}

// searched is what matcher.split finds: the numbers of tokens, and the texts between them.
func searched(tokens []addedToken, text string) (all []string) {
	word := func(r rune) bool { return r == 'a' || r == 'b' || r == '_' || r == 'é' || r == 0x200d }
	done := 0
	for at := 0; at < len(text); {
		longest := -1
		for i, token := range tokens {
			if token.Content != "" && strings.HasPrefix(text[at:], token.Content) &&
				(longest < 0 || len(token.Content) > len(tokens[longest].Content)) {
				longest = i
			}
		}
		if longest < 0 {
			at++
			continue
		}
		token, start := tokens[longest], at
		at += len(token.Content)
		end := at
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if token.SingleWord && (word(before) || word(after)) {
			continue
		}
		for token.LStrip && start > 0 && (text[start-1] == ' ' || strings.HasSuffix(text[:start], "\u00a0")) {
			start -= len("\u00a0") - strings.Count(text[start-1:start], " ")
		}
		for token.RStrip && (strings.HasPrefix(text[end:], " ") || strings.HasPrefix(text[end:], "\u00a0")) {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		if start > done {
			all = append(all, text[done:start])
		}
		all, done = append(all, fmt.Sprint(token.ID)), max(done, end)
	}
	if done < len(text) {
		all = append(all, text[done:])
	}
	return all
}

// A message is read field by field, and one that is cut within a field is refused.
func TestFieldsOfAMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var message []byte
		ends := []int{0}
		var want []field
		for range rapid.IntRange(0, 5).Draw(t, "fields") {
			f := field{number: protowire.Number(rapid.Int32Range(1, 1<<20).Draw(t, "number"))}
			switch wire := rapid.SampledFrom([]protowire.Type{protowire.VarintType, protowire.BytesType,
				protowire.Fixed32Type, protowire.Fixed64Type}).Draw(t, "wire"); wire {
			case protowire.VarintType:
				f.varint = rapid.Uint64().Draw(t, "varint")
				message = protowire.AppendVarint(protowire.AppendTag(message, f.number, wire), f.varint)
			case protowire.BytesType:
				f.bytes = append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "bytes")...)
				message = protowire.AppendBytes(protowire.AppendTag(message, f.number, wire), f.bytes)
			case protowire.Fixed32Type:
				f.bits = rapid.Uint32().Draw(t, "bits")
				message = protowire.AppendFixed32(protowire.AppendTag(message, f.number, wire), f.bits)
			default:
				message = protowire.AppendFixed64(protowire.AppendTag(message, f.number, wire), 7)
			}
			want, ends = append(want, f), append(ends, len(message))
		}
		complete := 0
		for cut := range len(message) + 1 {
			var got []field
			err := eachField(message[:cut], func(f field) error { got = append(got, f); return nil })
			if complete+1 < len(ends) && cut == ends[complete+1] {
				complete++
			}
			require.Equal(t, len(want[:complete]), len(got))
			for i, f := range got {
				require.Equal(t, want[i], f)
			}
			if cut == ends[complete] {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, errMessage)
			}
		}
	})
	for _, wire := range []protowire.Type{protowire.StartGroupType, protowire.EndGroupType, 6, 7} {
		message := protowire.AppendTag(nil, 1, wire)
		require.ErrorIs(t, eachField(message, func(field) error { return nil }), errMessage)
	}
}

// A part may have as many steps and as deep Sequences as the limits allow.
func TestLimitsOfSteps(t *testing.T) {
	sequences := func(sizes ...int) []byte {
		var all []any
		for _, n := range sizes {
			var steps []any
			for range n {
				steps = append(steps, typed("NFC"))
			}
			all = append(all, typed("Sequence", "normalizers", steps))
		}
		return asFile(t, object{"normalizer": typed("Sequence", "normalizers", all), "model": object{"vocab": object{"a": 0},
			"merges": []string{}}})
	}
	nested := func(depth int) []byte {
		step := typed("NFC")
		for range depth {
			step = typed("Sequence", "normalizers", []any{step})
		}
		return asFile(t, object{"normalizer": step, "model": object{"vocab": object{"a": 0}, "merges": []string{}}})
	}
	for want, files := range map[string][][]byte{
		"": {sequences(), sequences(0, 0), sequences(32, 32), sequences(64), sequences(64, 0), nested(0),
			nested(8)},
		"it has more than 64 steps": {sequences(32, 33), sequences(64, 1)},
		"are nested deeper than 8":  {nested(9)},
		"more than 64 elements":     {sequences(65)},
	} {
		for _, file := range files {
			tok, err := Parse(file, nil)
			if want == "" {
				require.NoError(t, err)
				require.Equal(t, []int32{0}, tok.Encode("a", true))
				continue
			}
			require.ErrorContains(t, err, want)
		}
	}
}

// Settings of a model that change nothing are accepted, and a model without a type is BPE if it has merges.
func TestModelsThatAreBPE(t *testing.T) {
	for _, c := range []struct {
		change func(model object)
		ok     bool
	}{
		{func(m object) {}, true},
		{func(m object) { delete(m, "type") }, true},
		{func(m object) { m["type"] = "" }, true},
		{func(m object) { delete(m, "type"); delete(m, "merges") }, false},
		{func(m object) { delete(m, "merges") }, true},
		{func(m object) { delete(m, "type"); m["merges"] = []string{} }, true},
		{func(m object) { m["type"] = "bpe" }, false},
		{func(m object) { m["dropout"] = 0 }, true},
		{func(m object) { m["dropout"] = nil }, true},
		{func(m object) { m["dropout"] = 0.5 }, false},
		{func(m object) { m["dropout"] = -0.5 }, false},
		{func(m object) { m["continuing_subword_prefix"] = "" }, true},
		{func(m object) { m["continuing_subword_prefix"] = "a" }, false},
		{func(m object) { m["end_of_word_suffix"] = "" }, true},
		{func(m object) { m["end_of_word_suffix"] = "a" }, false},
	} {
		model := object{"type": "BPE", "vocab": object{"a": 0, "b": 1, "ab": 2}, "merges": []string{"a b"}}
		c.change(model)
		tok, err := Parse(asFile(t, object{"model": model}), nil)
		require.Equal(t, c.ok, err == nil, "%v: %v", model, err)
		if err == nil {
			require.Len(t, tok.Encode("ab", true), 2-merges(model))
		}
	}
}

func merges(model object) int {
	list, _ := model["merges"].([]string)
	return len(list)
}

// If a key occurs twice, its last value counts.
func TestRepeatedLists(t *testing.T) {
	tok := parsed(t, []byte(`{"model":{"vocab":{"a":0,"b":1,"ab":2,"ba":3},"merges":["a b"],"merges":["b a"]}}`), nil)
	require.Equal(t, []int32{0, 3}, tok.Encode("aba", false))
}

// Piece returns the bytes that a token adds after another one; special and unused ids add none.
func TestPiecesOfTokens(t *testing.T) {
	for name, tok := range map[string]*Tokenizer{"bytes": parsed(t, spelled(t), nil),
		"SentencePiece": parsed(t, sentencePiece(t, nil), nil), "characters": small(t, func(file, _ object) {
			file["decoder"] = typed("Fuse")
		})} {
		before, ok := tok.ID("e")
		require.True(t, ok)
		for id := int32(-1); id <= int32(tok.VocabSize()); id++ {
			piece := tok.Piece(id)
			if !tok.has(id) || tok.Special(id) {
				require.Nil(t, piece, "%s %d", name, id)
				continue
			}
			require.NotNil(t, piece)
			require.Equal(t, validText(append([]byte("e"), piece...)), tok.Decode([]int32{before, id}, true), "%s %d", name, id)
		}
	}
}
