package foreign

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 10, ""},
		{"plain, grüße 世界 ✓", 100, "plain, grüße 世界 ✓"},
		{"\x1b[2J\x1b]0;title\x07", 100, `\u001b[2J\u001b]0;title\u0007`},
		{"a\r\nVALID\tb", 100, `a\u000d\u000aVALID\u0009b`},
		{"\u009b31m", 100, `\u009b31m`},
		{"x\u202etxt.exe", 100, `x\u202etxt.exe`},
		{"a\u2028b\ufeff\U000e0041", 100, `a\u2028b\ufeff\udb40\udc41`},
		{"\xff\xfe", 100, "\ufffd\ufffd"},
		{"ääää", 5, "ää..."},
		{"äää\xc3", 6, "äää..."},
		{"abc", 0, "..."},
		{"abc", -1, "..."},
		{"abc", 3, "abc"},
		{"a\x00c", 6, `a...`},
	} {
		require.Equal(t, c.want, Line(c.text, c.most), "%q", c.text)
	}
	require.Equal(t, "a\n\tb\\u000d\n", Lines("a\n\tb\r\n", 100))
}

// For any input, the output has a bounded length, is valid UTF-8, and contains nothing that controls a terminal.
func TestNothingSteersATerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		most := rapid.IntRange(-1, 200).Draw(t, "most")
		for kept, got := range map[string]string{"": Line(text, most), "\n\t": Lines(text, most)} {
			require.LessOrEqual(t, len(got), max(most, 0)+len(ellipsis))
			requireHarmless(t, got, kept)
		}
	})
}

func requireHarmless(t require.TestingT, got, kept string) {
	require.True(t, utf8.ValidString(got), "%q", got)
	for _, r := range got {
		require.True(t, strings.ContainsRune(kept, r) || !unicode.IsControl(r) &&
			!unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp), "%q has %U", got, r)
	}
}

// The output does not depend on the pieces in which a text is written.
func TestWriterIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SliceOf(rapid.SampledFrom([]byte("ab\n\r\x1b\xc3\xa4\xe2\x80\xae")))).Draw(t, "pieces")
		var out strings.Builder
		w := Writer(&out, func(line string) string { return strings.ReplaceAll(line, "ab", "*") })
		whole := ""
		for _, p := range pieces {
			n, err := w.Write(p)
			require.NoError(t, err)
			require.Equal(t, len(p), n)
			whole += string(p)
		}
		require.NoError(t, w.Flush())
		require.Equal(t, Lines(strings.ReplaceAll(whole, "ab", "*"), math.MaxInt), out.String())
	})
}

func TestWriterPassesLinesOnAtOnce(t *testing.T) {
	var out strings.Builder
	w := Writer(&out)
	_, _ = io.WriteString(w, "a\nb")
	require.Equal(t, "a\n", out.String())
	_, _ = io.WriteString(w, strings.Repeat("x", longestHeld))
	require.Greater(t, out.Len(), longestHeld, "a line without an end is not kept for ever")
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestWriterReportsErrors(t *testing.T) {
	w := Writer(broken{})
	_, err := io.WriteString(w, "a\n")
	require.Error(t, err)
	_, err = io.WriteString(w, "a")
	require.NoError(t, err)
	require.Error(t, w.Flush())
	require.NoError(t, w.Flush())
}

// JSON does not escape DEL and the C1 control characters. After escaping them, the JSON must still have the same value.
func TestJSONStaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value") + "\u007f\u009b\u202e\U000e0041\u2028"
		text, err := json.Marshal(value)
		require.NoError(t, err)
		shown := Lines(string(text), math.MaxInt)
		requireHarmless(t, shown, "")
		var got string
		require.NoError(t, json.Unmarshal([]byte(shown), &got))
		require.Equal(t, value, got)
	})
}

// Paint's two sequences are written unchanged. The text between and around them is made safe like any other text,
// wherever it is cut.
func TestPaint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[\x1bab\n\x{9b}]{0,8}`)
		before, painted, after := text.Draw(t, "before"), text.Draw(t, "painted"), text.Draw(t, "after")
		var out strings.Builder
		w := Writer(&out)
		_, err := io.WriteString(w, before)
		require.NoError(t, err)
		require.NoError(t, w.Paint("\x1b[31m", painted, "\x1b[0m"))
		_, err = io.WriteString(w, after)
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		require.Equal(t, Lines(before, math.MaxInt)+"\x1b[31m"+Lines(painted, math.MaxInt)+"\x1b[0m"+
			Lines(after, math.MaxInt), out.String())
	})
}

func TestTextKind(t *testing.T) {
	for head, want := range map[string]string{
		"<s>one two</s>": "", "<|user|> hello": "", "PARENTS ask": "", "plain": "", "": "", "<": "",
		"<!DOCTYPE html>\n": "HTML or XML", "\ufeff\r\n <HTML lang=en>": "HTML or XML", "<?xml version=": "HTML or XML",
		"PK\x03\x04": "a zip archive", "version https://git-lfs.github": "a Git LFS pointer, not the file itself",
	} {
		what, remedy := TextKind([]byte(head))
		require.Equal(t, want, what, head)
		require.Equal(t, want == "", remedy == "", head)
	}
}
