package tokenizer

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestInvalidBytesAreReplaced(t *testing.T) {
	// The expected texts are those of Python's bytes.decode("utf-8", "replace").
	for raw, want := range map[string]string{
		"a\xffb":                   "a\ufffdb",
		"\xe4\xb8":                 "\ufffd",
		"\xe4\xb8x":                "\ufffdx",
		"\xe4\xb8\xe4\xb8\x96":     "\ufffd世",
		"\xf0\x9f\x98":             "\ufffd",
		"\xf0\x9f\x98\xf0\x9f":     "\ufffd\ufffd",
		"\xc0\xaf":                 "\ufffd\ufffd",
		"\xe0\x9f\xbf":             "\ufffd\ufffd\ufffd",
		"\xed\xa0\x80":             "\ufffd\ufffd\ufffd",
		"\xf4\x90\x80\x80":         "\ufffd\ufffd\ufffd\ufffd",
		"\xf5\x80":                 "\ufffd\ufffd",
		"\xf0\x80\x80\x80":         "\ufffd\ufffd\ufffd\ufffd",
		"\x80\x80":                 "\ufffd\ufffd",
		"\xf1\x80\x80\x41\xc3":     "\ufffdA\ufffd",
		"\xe1\x80\xe2\xf0\x91\x92": "\ufffd\ufffd\ufffd",
	} {
		require.Equal(t, want, validText([]byte(raw)), "%q", raw)
	}
}

func TestOpenTail(t *testing.T) {
	for raw, want := range map[string]int{"": 0, "a": 0, "\xc3": 1, "\xe4": 1, "\xe4\xb8": 2, "\xe4\xb8\x96": 0,
		"\xf0\x9f\x98": 3, "\xf0\x9f\x98\x80": 0, "\xe0\x80": 0, "\xff": 0, "\x80": 0, "a\x80\x80": 0,
		"\xf4\x90": 0, "\xc3a": 0, "世\xe4": 1} {
		require.Equal(t, want, openTail([]byte(raw)), "%q", raw)
	}
}

// decoders returns tokenizers of files with different decoders.
func decoders(t testing.TB) map[string]*Tokenizer {
	t.Helper()
	with := func(decoder any) []byte {
		return sentencePiece(t, func(file, _ object) { file["decoder"] = decoder })
	}
	sequence := func(steps ...any) object { return object{"type": "Sequence", "decoders": steps} }
	tidy := []byte(`{"clean_up_tokenization_spaces": true}`)
	space := object{"type": "Replace", "pattern": object{"String": "▁"}, "content": " "}
	return map[string]*Tokenizer{
		"byte level":         parsed(t, spelled(t), nil),
		"byte level, tidied": parsed(t, spelled(t), tidy),
		"llama 2":            parsed(t, sentencePiece(t, nil), nil),
		"llama 2, tidied":    parsed(t, sentencePiece(t, nil), tidy),
		"metaspace": parsed(t, with(object{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}),
			nil),
		"none": parsed(t, with(nil), nil),
		"strip both ends": parsed(t, with(sequence(space, object{"type": "Fuse"},
			object{"type": "Strip", "content": " ", "start": 2, "stop": 2})), tidy),
		"strip each": parsed(t, with(sequence(space, object{"type": "Strip", "content": "e", "start": 1, "stop": 1},
			object{"type": "ByteFallback"})), nil),
	}
}

func TestStreamEqualsDecode(t *testing.T) {
	for name, tok := range decoders(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				ids := rapid.SliceOfN(rapid.OneOf(rapid.Int32Range(0, 300), rapid.Int32Range(-1, int32(tok.VocabSize()))), 0,
					20).Draw(r, "ids")
				text := rapid.SampledFrom([]string{"", "hello , world . It ' s", "e  ", " 世界 n't", "é😀"}).Draw(r, "text")
				ids = append(ids, tok.Encode(text, false)...)
				skip := rapid.Bool().Draw(r, "skip")
				s := tok.NewStream(skip)
				for range 2 { // after Flush a stream starts again
					var b strings.Builder
					for _, id := range ids {
						part := s.Next(id)
						require.True(r, utf8.ValidString(part))
						b.WriteString(part)
					}
					b.WriteString(s.Flush())
					require.Equal(r, tok.Decode(ids, skip), b.String())
				}
			})
		})
	}
}

func TestStreamHoldsCharactersBack(t *testing.T) {
	tok := parsed(t, spelled(t), nil)
	s := tok.NewStream(true)
	var parts []string
	for _, b := range []byte("a世😀") {
		parts = append(parts, s.Next(int32(b)))
	}
	require.Equal(t, []string{"a", "", "", "世", "", "", "", "😀"}, parts)
	require.Empty(t, s.Next(0xe4))
	require.Equal(t, "\ufffd", s.Flush())
}

func TestByteFallbackReplacesAWholeRun(t *testing.T) {
	tok := parsed(t, sentencePiece(t, nil), nil)
	id := func(token string) int32 {
		id, ok := tok.ID(token)
		require.True(t, ok, token)
		return id
	}
	whole := []int32{id("<0xE4>"), id("<0xB8>"), id("<0x96>")}
	require.Equal(t, "世", tok.Decode(whole, true))
	require.Equal(t, "\ufffd\ufffde", tok.Decode([]int32{whole[0], whole[1], id("e")}, true))
	require.Equal(t, "\ufffd\ufffd\ufffd\ufffd", tok.Decode(append(whole, whole[0]), true))
	require.Equal(t, "世e\ufffd", tok.Decode(append(whole, id("e"), whole[0]), true))
}

func TestCleanUp(t *testing.T) {
	tok := parsed(t, spelled(t), []byte(`{"clean_up_tokenization_spaces": true, "model_max_length": 1e30}`))
	for text, want := range map[string]string{
		"Yes , it 's .":      "Yes, it's.",
		"Is n't I 'm we 've": "Isn't I'm we've",
		"they 're ! so ?":    "they're! so?",
		"rock ' n ' roll":    "rock'n'roll",
		"a  . b":             "a . b",
	} {
		ids := tok.Encode(text, false)
		require.Equal(t, want, tok.Decode(ids, true))
		require.Equal(t, want, streamed(tok, ids, true))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0xe4, 0xb8, 0x96, 0, 1, 2, ' ', '.'})
	all := decoders(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		ids := make([]int32, len(raw))
		for i, b := range raw {
			ids[i] = int32(b) + int32(i%3) - 1
		}
		for name, tok := range all {
			text := tok.Decode(ids, len(raw)%2 == 0)
			require.True(t, utf8.ValidString(text), name)
			require.Equal(t, text, streamed(tok, ids, len(raw)%2 == 0), name)
		}
	})
}

// TestCutsChangeNothing checks that the cuts that speed up merging do not change the ids.
func TestCutsChangeNothing(t *testing.T) {
	fast := parsed(t, sentencePiece(t, nil), nil)
	require.Len(t, fast.steps, 1)
	slow := parsed(t, sentencePiece(t, nil), nil)
	slow.steps = nil
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("helothe world harbour  ▁é世\n"))).Draw(t, "text")
		require.Equal(t, slow.Encode(text, true), fast.Encode(text, true))
	})
	// A token with a mark inside makes such cuts impossible.
	across := parsed(t, sentencePiece(t, func(_, model object) {
		model["vocab"].(map[string]int32)["e▁"] = 5000
	}), nil)
	require.Empty(t, across.steps)
}
