package sim

import (
	"strconv"
	"sync/atomic"
	"unicode/utf8"
)

// speller returns the text of an answer, token by token, as the inside of a JSON string.
type speller struct {
	tok    Tokenizer
	pieces []atomic.Pointer[string] // text of each id, filled when first needed
	silent int32                    // id without text: EOS
}

func newSpeller(tok Tokenizer, vocabulary int, eos int32) *speller {
	return &speller{tok: tok, pieces: make([]atomic.Pointer[string], vocabulary), silent: eos}
}

func (sp *speller) piece(id int32) string {
	if id == sp.silent {
		return ""
	}
	if id < 0 || int(id) >= len(sp.pieces) {
		return ""
	}
	if p := sp.pieces[id].Load(); p != nil {
		return *p
	}
	s := sp.tok.Decode([]int32{id})
	sp.pieces[id].Store(&s)
	return s
}

// spelling is an answer's escaped text; ends[i] is the end of token i in it.
type spelling struct {
	text []byte
	ends []int32
}

// between returns the text of tokens [from, to).
func (s *spelling) between(from, to int) []byte {
	var a int32
	if from > 0 {
		a = s.ends[from-1]
	}
	if to == 0 {
		return nil
	}
	return s.text[a:s.ends[to-1]]
}

// spell escapes the text of tokens. Like vLLM's detokenizer it holds the bytes of an incomplete character back until it
// is whole; at the end of the answer they become U+FFFD.
func (sp *speller) spell(tokens []int32) spelling {
	out := spelling{text: make([]byte, 0, 6*len(tokens)), ends: make([]int32, len(tokens))}
	var held []byte
	for i, id := range tokens {
		p := sp.piece(id)
		if len(held) > 0 || !utf8.ValidString(p) {
			held = append(held, p...)
			whole := wholeRunes(held)
			if i == len(tokens)-1 {
				whole = len(held)
			}
			out.text = appendEscaped(out.text, string(held[:whole]))
			held = held[whole:]
		} else {
			out.text = appendEscaped(out.text, p)
		}
		out.ends[i] = int32(len(out.text))
	}
	return out
}

// wholeRunes returns the length of b without an incomplete character at its end.
func wholeRunes(b []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(b)); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - n
			}
			break
		}
	}
	return len(b)
}

const hexDigits = "0123456789abcdef"

// appendEscaped appends s as the inside of a JSON string. It escapes only what JSON requires; invalid UTF-8 becomes
// U+FFFD.
func appendEscaped(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
			i++
		case c == '\n':
			dst = append(dst, '\\', 'n')
			i++
		case c == '\r':
			dst = append(dst, '\\', 'r')
			i++
		case c == '\t':
			dst = append(dst, '\\', 't')
			i++
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			i++
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst
}

// appendIDs appends ids as a JSON array.
func appendIDs(dst []byte, ids []int32) []byte {
	dst = append(dst, '[')
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(id), 10)
	}
	return append(dst, ']')
}
