package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInvalidYAMLNamesItsLine: the line of an error is the one to correct, where a bracket or a quote opens too.
func TestInvalidYAMLNamesItsLine(t *testing.T) {
	const bracket, brace = "a bracket [ opens here and is not closed", "a brace { opens here and is not closed"
	const quote = "a quote opens here and is not closed"
	for _, c := range []struct{ name, text, want string }{
		{"p.yaml", "a: 1\nb:\n  c: [1, 2\nd: 3\n", "p.yaml line 3 is not valid YAML: " + bracket},
		{"p.yaml", "a: [1, 2\nd: 3\n", "p.yaml line 1 is not valid YAML: " + bracket},
		{"p.yaml", "a: [1, 2", "p.yaml line 1 is not valid YAML: " + bracket},
		{"p.yaml", "a: 1\nb: {c: 1\nd: 3\n", "p.yaml line 2 is not valid YAML: " + brace},
		{"p.yaml", "a: {b: [1, {c: 1}]\n", "p.yaml line 1 is not valid YAML: " + brace},
		{"p.yaml", "a: 1\nb: [{c: 1]\n", "p.yaml line 2 is not valid YAML: " + brace},
		{"p.yaml", "a: 1\nb: 'it\nc: 3\n", "p.yaml line 2 is not valid YAML: " + quote},
		{"p.yaml", "\xef\xbb\xbfa: \"it\nc: 3\n", "p.yaml line 1 is not valid YAML: " + quote},
		{"p.yaml", "a: 1\nb: \"it\nc: \"3\"\nd: 4\n", "line 2 has a quote that may not be closed"},
		{"p.yaml", "a: 1\nb: 2\n c: 3\n", "p.yaml line 3 is not valid YAML: mapping values are not allowed"},
		{"p.yaml", "a:\n  b: 1\n c: 2\n", "p.yaml line 3 is not valid YAML: did not find expected key"},
		{"p.json", "{\"a\": [\n1, 2\n}\n", "p.json line 3 is not valid JSON: invalid character '}'"},
		{"p.json", "{\"a\": \"x,\n\"b\": 2}\n", `p.json line 1 is not valid JSON: invalid character '\n' in string`},
		{"p.json", "{\"a\": 1,\n\"b\": 2\n", "p.json line 2 is not valid JSON: unexpected end of JSON input"},
		{"p.yaml", "{\"a\": 1,\n\"b: 2\n}\n", "p.yaml line 2 is not valid YAML: " + quote},
	} {
		_, err := ReadYAML(c.name, strings.NewReader(c.text))
		require.ErrorContains(t, err, c.want, c.text)
	}
}
