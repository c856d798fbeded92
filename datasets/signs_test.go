package datasets

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every sign of base64 is one, and no other.
func TestEverySignOfBase64(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for c := range 256 {
		for at := range 3 {
			text := []byte("AAAA")
			text[at] = byte(c)
			n, f := base64Size(string(text))
			require.Equal(t, strings.Contains(alphabet, string(rune(c))) && c < 128, f == nil, "%q", text)
			if f == nil {
				require.Equal(t, 3, n)
			}
		}
	}
	for n := range 50 {
		size, f := base64Size(base64.StdEncoding.EncodeToString(make([]byte, n)))
		require.Equal(t, n > 0, f == nil, n)
		require.Equal(t, n, size)
	}
	for _, bad := range []string{"", "====", "A===", "=AAA", "AA=A", "AAA", "AAAAA", "AAAA===="} {
		_, f := base64Size(bad)
		require.NotNil(t, f, bad)
	}
}

// Ids are separated by any white space of JSON, and end at the largest.
func TestEachWayToWriteIDs(t *testing.T) {
	for _, space := range []string{"", " ", "\t", "\n", "\r", " \t\n\r"} {
		ids, f := appendIDs(nil, fmt.Appendf(nil, "[%s1%s,%s20%s]", space, space, space, space))
		require.Nil(t, f)
		require.Equal(t, []int32{1, 20}, ids)
	}
	for text, want := range map[string]string{"[2147483647]": "", "[2147483648]": "at most 2147483647", "[0]": "",
		"[]": "", "[99999999999999999999999]": "at most 2147483647",
		"[-1]": "ids from 0 on", "[1.0]": "integers", "[1e2]": "integers",
		"[1E2]": "integers", "[\"1\"]": "integers", "[[1]]": "integers", "[null]": "integers"} {
		_, f := appendIDs(nil, []byte(text))
		require.Equal(t, want == "", f == nil, text)
		if f != nil {
			require.Contains(t, f.expected, want, text)
		}
	}
}

// The template of an object is its first text with the place of the input.
func TestFirstTextOfAnObject(t *testing.T) {
	for object, want := range map[string]string{`{"a":"x {input}"}`: `"x {input}"`, `{"a":"x","b":"{input}"}`: `"{input}"`,
		`{"a":"{input}","b":"y {input}"}`: `"{input}"`, `{"a":["{input}"],"b":{"c":"{input}"}}`: "", `{"a":"input"}`: "",
		`{}`: "", `{"{input}":3}`: ""} {
		require.Equal(t, want, string(firstText([]byte(object))), object)
	}
}

// Python's repr chooses its quotes by those inside, wherever they stand.
func TestQuotesOfRepr(t *testing.T) {
	for text, want := range map[string]string{"a": "'a'", "it's": `"it's"`, `"`: `'"'`, `"it's"`: `'"it\'s"'`, `'"`: `'\'"'`,
		"'": `"'"`, "\\": `'\\'`, "a\tb": `'a\tb'`, "\x01": `'\x01'`, "\u00a0": `'\xa0'`, "é": "'é'", "\x7f": `'\x7f'`,
		"\r\n": `'\r\n'`, "\u2028": `'\u2028'`, "😀": "'😀'"} {
		require.Equal(t, want, string(appendRepr(nil, []byte(text))), text)
	}
	for text, want := range map[string]string{"a": `"a"`, `"\`: `"\"\\"`, "\n\r\t\b\f": `"\n\r\t\b\f"`, "\x1f ~\x7f": `"\u001f ~\u007f"`,
		"é\uffff": `"\u00e9\uffff"`, "\U00010000": `"\ud800\udc00"`} {
		require.Equal(t, want, string(appendDumped(nil, []byte(text))), text)
	}
}
