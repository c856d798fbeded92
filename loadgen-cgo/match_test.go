//go:build cgo && !noloadgen

package loadgen_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var placeholders = strings.NewReplacer(`\{volatile\}`, `(?s:.*)`, `\{dir\}`, `(?s:.*)`)

// matches reports whether text equals the recorded text, which has placeholders for values that differ between runs.
func matches(recorded, text string) bool {
	if !strings.Contains(recorded, "{") {
		return recorded == text
	}
	return regexp.MustCompile(`^` + placeholders.Replace(regexp.QuoteMeta(recorded)) + `$`).MatchString(text)
}

// sameValue compares JSON values: integers exactly, other numbers as doubles, texts with placeholders.
func sameValue(want, got any) bool {
	switch w := want.(type) {
	case json.Number:
		g := fmt.Sprint(got)
		if w.String() == g {
			return true
		}
		if isWhole(w.String()) && isWhole(g) {
			return false
		}
		a, err1 := strconv.ParseFloat(w.String(), 64)
		b, err2 := strconv.ParseFloat(g, 64)
		return err1 == nil && err2 == nil && a == b
	case string:
		return matches(w, fmt.Sprint(got))
	default:
		return reflect.DeepEqual(want, got)
	}
}

func isWhole(number string) bool { return strings.Trim(number, "-0123456789") == "" }

func TestSameValue(t *testing.T) {
	require.True(t, sameValue(json.Number("1000000.0"), json.Number("1e+06")))
	require.False(t, sameValue(json.Number("18446744073709551615"), json.Number("18446744073709551614")))
	require.True(t, matches("can't open file {dir}/x", "can't open file /tmp/a/x"))
	require.False(t, matches("a {volatile} b", "a 5 c"))
	require.False(t, matches("a.b", "acb"))
}
