package quote

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// check compares a text with encoding/json, behind other bytes.
func check(t require.TestingT, text string) {
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(text))
	require.Equal(t, "x"+want.String(), string(Text([]byte("x"), text))+"\n")
	html, err := json.Marshal(text)
	require.NoError(t, err)
	require.Equal(t, "x"+string(html), string(HTML([]byte("x"), text)))
	own := `"` + text + `"`
	require.Equal(t, string(html) == own && strings.Trim(text, ascii) == "", IsPlain(text), "%q", text)
	require.Equal(t, own, string(Plain(nil, text)))
}

var ascii = func() (all string) {
	for c := range 0x80 {
		all += string(rune(c))
	}
	return all
}()

// Each byte and each character decides by itself, wherever it is.
func TestEveryCharacterAtEveryPlace(t *testing.T) {
	for at := range 20 {
		for c := range 256 {
			text := []byte(strings.Repeat(" ~a!", 5))
			text[at] = byte(c)
			check(t, string(text))
		}
		for _, c := range []string{"é", "\u2027", "\u2028", "\u2029", "\u202a", "\ufffd", "世", "😀", "\xe2\x80",
			"\xed\xa0\x80",
			"\xf0\x9f\x98", "\xc0\x80", "\r\n", `\"`, "</a>", "&&"} {
			check(t, strings.Repeat("b", at)+c)
			check(t, strings.Repeat("b", at)+c+strings.Repeat("c", 20-at))
		}
	}
	check(t, "")
	require.True(t, IsPlain(strings.Repeat(" ~a!#[]\x7f", 5)))
}

func TestTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "text")) })
	rapid.Check(t, func(t *rapid.T) { check(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))) })
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a word", "\"", "\n", "é", "<b>", "\xff", "\\"})).
			Draw(t, "parts"), ""))
	})
}

func FuzzQuote(f *testing.F) {
	f.Add("a \"b\"\n<c>\u2028\xff")
	f.Fuzz(func(t *testing.T, text string) { check(t, text) })
}

func BenchmarkText(b *testing.B) {
	for name, text := range map[string]string{"plain": "some text ", "prose": "He said: \"a few more words of it\".\n",
		"code": "if a < b {\n\tx := \"y\"\n}\n", "chinese": "世界 "} {
		text = strings.Repeat(text, 1200/len(text))
		for form, write := range map[string]func([]byte, string) []byte{"text": Text, "html": HTML, "json": marshalled} {
			b.Run(name+"/"+form, func(b *testing.B) {
				var buf []byte
				for b.Loop() {
					buf = write(buf[:0], text)
				}
			})
		}
	}
}

func marshalled(dst []byte, text string) []byte {
	all, _ := json.Marshal(text) // cannot fail
	return append(dst, all...)
}
