package probe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTitleOfPage requires that a web page in the place of an answer is quoted as its title alone.
func TestTitleOfPage(t *testing.T) {
	const before = "POST http://a/v1/completions: the server answered HTTP 502: "
	filler := strings.Repeat("<p>padding</p>\n", 99)
	for page, want := range map[string]string{
		"<!DOCTYPE html>\n<html><head><title>\n502 Bad Gateway\n</title></head>" + filler: `a web page ("502 Bad Gateway")`,
		"<HTML><TITLE>x</TITLE>" + filler:                                                 `a web page ("x")`,
		"<html><title>the end of the quotation":                                           `a web page ("the end of the quotation")`,
		"<html><title>" + strings.Repeat("y", 500) + "</title>":                           `a web page ("` + strings.Repeat("y", 80) + `")`,
		"<html><body><h1>Please\nsign in</h1></body":                                      `a web page ("Please sign in")`,
		"<html><hr>": "a web page",
		`{"error": "the prompt <b> is too long"}`: `{"error": "the prompt <b> is too long"}`,
	} {
		require.Equal(t, before+want, titleOfPage(before+page))
	}
}
