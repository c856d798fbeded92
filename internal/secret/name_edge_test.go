package secret

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsFlag(t *testing.T) {
	for word, want := range map[string]bool{"-a": true, "--Zeta": true, "-z": true, "-A": true, "a": false, "--": false,
		"-1": false, "": false, "-[": false} {
		require.Equal(t, want, isFlag(word), word)
	}
}

// Names beside those of TestName: each word counts only at its place.
func TestNameByThePlaceOfItsWords(t *testing.T) {
	for name, want := range map[string]bool{
		"PASSWORD_FILE": false, "secret-path": false, "file": false, "pwd": false, "old_pwd": false,
		"old_dsn": true, "new_pwd": true, "old_db_pwd": true, "pwd_old": false, "stop_pass": true, "cache_pwd": true,
		"row_auth": true, "row_key": false, "row_token": false, "row_api_token": true, "key_row": false,
		"value": false, "key_value": true, "value_key": true, "token_text": true, "key_text_value": false,
	} {
		require.Equal(t, want, Name(name), name)
	}
}

// In free text, one word is enough where it can be nothing else.
func TestTellingNames(t *testing.T) {
	for text, want := range map[string]string{
		"password: abc": "password: ***", "Secret=abc": "Secret=***", "pass=abc": "pass=***", "PASS=abc": "PASS=***",
		"key=abc": "key=abc", "token=abc": "token=abc", "auth=abc": "auth=abc", "hf_token=abc": "hf_token=***",
	} {
		require.Equal(t, want, Text(text), text)
	}
}

// What follows a secret argument is hidden unless it is a flag; nothing is hidden behind one with its value inline.
func TestArgsBesideSecrets(t *testing.T) {
	for _, c := range [][2][]string{
		{{"--api-key", "--seed", "3"}, {"--api-key", "--seed", "3"}},
		{{"--api-key", "-x", "3"}, {"--api-key", "***", "***"}},
		{{"--api-key", "x", "-y"}, {"--api-key", "***", "-y"}},
		{{"--api-key=x", "y"}, {"--api-key=***", "y"}},
		{{"--max=x", "y"}, {"--max=x", "y"}},
		{{"x=y", "api-key", "z"}, {"x=y", "api-key", "z"}},
	} {
		require.Equal(t, c[1], Args(c[0]), c[0])
	}
}

// A value in the environment or in arguments is registered in each of its lines and spellings, and only if it is no
// ordinary word.
func TestRegisteredValues(t *testing.T) {
	var r Redactor
	r.AddText("api_key=abc12345xyz and password: other-word-1")
	r.Add("  spaced secret  ", "12345678", "1234567", "disabled", "äöü\"ä", "false", "one\n  second line\n\n")
	r.AddEnviron([]string{"PROXY=http://name@host", "HF_TOKEN", "API_KEY=good-value-2", "OTHER=%zz://u:passing@h"})
	for text, want := range map[string]string{
		"abc12345xyz other-word-1":              "*** ***",
		"x spaced secret x":                     "x *** x",
		"12345678 1234567 disabled":             "*** 1234567 ***",
		`äöü\"ä`:                                `***`,
		"%C3%A4%C3%B6%C3%BC%22%C3%A4 false one": "*** false one",
		"the second line":                       "the ***",
		"name good-value-2 passing":             "name *** passing",
	} {
		require.Equal(t, want, r.Values(text), text)
	}
	var none *Redactor
	none.Add("nothing happens")
	text, err := r.JSON([]string{"", "a"}) // empty text, and text that ends with one sign
	require.NoError(t, err)
	require.Equal(t, `["","a"]`, string(text))
	require.Equal(t, map[string]any{"plain": []any{"a b", "***"}, "api_key": []any{"***"}},
		r.Tree(map[string]any{"plain": []any{"a b", "good-value-2"}, "api_key": []any{"x"}}))
}
