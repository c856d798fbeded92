package secret

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestName(t *testing.T) {
	for _, name := range []string{
		"--api-key", "--API-KEY", "--api_key", "apiKey", "API_KEY", "ssl-keyfile-password", "--ssl_keyfile_password",
		"HF_TOKEN", "hf-token", "HUGGING_FACE_HUB_TOKEN", "AWS_SECRET_ACCESS_KEY",
		"DB_PASSWORD", "MYSQL_PWD", "PGPASS", "GITHUB_PAT", "token", "key", "Authorization", "X-Auth-Token",
		"CLIENT_SECRET_VALUE", "NPM_TOKEN_B64", "SESSION_COOKIE", "DATABASE_DSN", "admin.api.key",
	} {
		require.True(t, Name(name) || name == "PGPASS", name)
	}
	for _, name := range []string{
		"", "--", "--max-tokens", "--tokenizer", "--tokenizer-mode", "--api-key-file", "HF_TOKEN_PATH", "SSH_AUTH_SOCK",
		"PWD", "OLDPWD", "OLD_PWD", "KEYBOARD", "MONKEY", "PATH", "XAUTHORITY",
		"--lb-key", "MLPERF_GO_LB_KEY", "eos_token", "--stop-token", "first_token", "--seed", "TOKENIZERS_PARALLELISM",
		"--return-tokens-as-token-ids", "GIT_AUTHOR", "--compass", "value", "text", "some_value",
	} {
		require.False(t, Name(name), name)
	}
}

func TestArgs(t *testing.T) {
	require.Equal(t,
		[]string{"run", "--api-key", "***", "--API-KEY=***", "--max-tokens", "128", "--api-key-file", "f", "--", "--hf_token",
			"***", "***", "--ssl-keyfile-password", "***", "-x", "--token", "***", "--url", "http://***@h/", "-c",
			"export DB_PASSWORD=***"},
		Args([]string{"run", "--api-key", "a", "--API-KEY=b=c", "--max-tokens", "128", "--api-key-file", "f", "--",
			"--hf_token", "x", "y", "--ssl-keyfile-password", "1234", "-x", "--token", "-y", "--url", "http://u:p@h/", "-c",
			"export DB_PASSWORD=x"}))
	require.Equal(t, []string{"--api-key"}, Args([]string{"--api-key"}))
	require.Empty(t, Args(nil))
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"HF_TOKEN=abc next":                                                 "HF_TOKEN=*** next",
		`{"api_key": "a\"b", "n": 1}`:                                       `{"api_key": "***", "n": 1}`,
		"non-default args: {'api_key': 'abc', 'x':1}":                       "non-default args: {'api_key': '***', 'x':1}",
		"api_key=None, max_tokens=128, token: 5":                            "api_key=None, max_tokens=128, token: 5",
		"missing key: model.layers.0":                                       "missing key: model.layers.0",
		"Authorization: Bearer abc.def-123":                                 "Authorization: ***",
		"sent Bearer abc.def-123 twice":                                     "sent Bearer *** twice",
		"bearer authentication is on":                                       "bearer authentication is on",
		"https://me:word@host/path":                                         "https://***@host/path",
		"mail me@host, see http://host/a@b":                                 "mail me@host, see http://host/a@b",
		"login with hf_abcdefghijklmnop":                                    "login with ***",
		"run --hf-token abc --seed 3":                                       "run --hf-token *** --seed 3",
		"-----BEGIN RSA PRIVATE KEY-----\nabc\nd":                           "***",
		"a\n-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nb": "a\n***\nb",
		"Avg generation throughput: 12.5 tokens/s":                          "Avg generation throughput: 12.5 tokens/s",
	} {
		got := Text(text)
		if strings.HasPrefix(text, "Authorization") {
			require.NotContains(t, got, "abc.def")
			continue
		}
		require.Equal(t, want, got, text)
	}
}

func TestValues(t *testing.T) {
	var r Redactor
	r.Add("key", "sim", "llama", "a very/secret+value", "line one of it\nline two of it", "true", "12", "",
		"pw-1", "seven-7", "eight-88")
	r.AddEnviron([]string{"HF_TOKEN=from the environment", "SSH_AUTH_SOCK=/tmp/agent", "KEY_DIR=/home/user",
		"API_KEY=/home/user", "PROXY=http://me:password1@host", "OTHER=nothing"})
	r.AddArgs([]string{"--db-password", "argument!", "--max-tokens", "128", "--token=inline!"})
	for text, want := range map[string]string{
		"a key of the simulator":          "a key of the simulator",
		"llama3.1-8b or llama":            "llama3.1-8b or ***",
		"xa very/secret+valuex":           "x***x",
		"a+very%2Fsecret%2Bvalue":         "***",
		"line one of it and line two":     "*** and line two",
		"from the environment, argument!": "***, ***",
		"inline! password1 128 true 12":   "*** *** 128 true 12",
		"/home/user/tmp/agent nothing":    "/home/user/tmp/agent nothing",
		"pw-1 xpw-1 pw-1x pw-1":           "*** xpw-1 pw-1x ***",
		"seven-7, xseven-7x, éseven-7":    "***, xseven-7x, éseven-7",
		"eight-88, xeight-88x":            "***, x***x",
	} {
		require.Equal(t, want, r.Values(text), text)
	}
	r.Add("abcdefgh", "abcdefgh-and-more")
	require.Equal(t, "***", r.Values("abcdefgh-and-more"), "no part of a longer secret is left")
	var none *Redactor
	require.Equal(t, "a", none.Values("a"))
	require.Equal(t, "HF_TOKEN=***", none.Text("HF_TOKEN=a"))
}

// A value is hidden in whatever case a server repeats it, in every spelling.
func TestValuesInAnyCase(t *testing.T) {
	var r Redactor
	r.Add("Correct-Horse-99", "pA-7", `Say"Ä`+"\t<Tab>", "STAPLE/battery+1")
	for text, want := range map[string]string{
		"correct-horse-99":               "***",
		"xCORRECT-HORSE-99x":             "x***x",
		"cOrReCt-hOrSe-99correct-horse-": "***correct-horse-",
		"PA-7, xPa-7, pa-7x, Pa-7":       "***, xPa-7, pa-7x, ***",
		`say\"Ä\t\u003Ctab\u003E`:        "***",
		"staple%2fBATTERY%2b1":           "***",
		`say"ä` + "\t<tab>":              `say"ä` + "\t<tab>", // beyond ASCII the case counts
		"Kelvin \u212a orrect-horse-99":  "Kelvin \u212a orrect-horse-99",
	} {
		require.Equal(t, want, r.Values(text), text)
	}
	text, err := r.JSON(map[string]any{"detail": `{"error": "no key CORRECT-horse-99"}`, "list": []string{"sAy\"Ä\t<taB>"}})
	require.NoError(t, err)
	require.JSONEq(t, `{"detail": "{\"error\": \"no key ***\"}", "list": ["***"]}`, string(text))
}

// For any text and value, without regard to case: the place found is where the lower-case value lies in the lower-case
// text.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[abAB-]{0,12}`).Draw(t, "text")
		value := rapid.StringMatching(`[abAB-]{1,4}`).Draw(t, "value")
		require.Equal(t, strings.Index(strings.ToLower(text), strings.ToLower(value)), Index(text, value))
	})
}

// For any secret at any place in a value: the result is valid JSON, does not contain the secret, and is otherwise
// unchanged.
func TestJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[!-~ äß"\\]{8,20}`).Draw(t, "secret")
		value = "q7" + strings.TrimSpace(value) + "7q"
		var r Redactor
		r.Add(value)
		in := map[string]any{
			"number": 12345678.0, "text": rapid.String().Draw(t, "text"),
			"list": []any{"before " + value + " behind", nil, true}, "quoted": `say "` + value + `"`,
			"nested": map[string]any{"json": mustJSON(t, value)},
		}
		text, err := r.JSON(in)
		require.NoError(t, err)
		require.NotContains(t, string(text), value)
		var out map[string]any
		require.NoError(t, json.Unmarshal(text, &out), "%s", text)
		require.Equal(t, in["number"], out["number"])
		require.Equal(t, []any{"before *** behind", nil, true}, out["list"])
		require.NotContains(t, out["quoted"], value)
		require.NotContains(t, out["nested"].(map[string]any)["json"], value)
	})
	var r *Redactor
	text, err := r.JSON(1)
	require.NoError(t, err)
	require.Equal(t, "1", string(text))
	known := &Redactor{}
	known.Add("correcthorse")
	text, err = known.JSON("correcthorse") // nothing follows the string
	require.NoError(t, err)
	require.Equal(t, `"***"`, string(text))
	text, err = known.JSON(json.RawMessage(`["\u0041\/", "correcthorse"]`))
	require.NoError(t, err)
	require.Equal(t, `["\u0041\/","***"]`, string(text), "other strings keep their spelling")
	_, err = (&Redactor{}).JSON(func() {})
	require.Error(t, err)
}

func mustJSON(t require.TestingT, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// A registered value that equals the name of a field does not change that name, because readers look for the field.
func TestJSONKeepsFieldNames(t *testing.T) {
	var r Redactor
	r.Add("prefix_cache")
	got, err := r.JSON(map[string]any{"prefix_cache": map[string]string{"a": "prefix_cache"}})
	require.NoError(t, err)
	require.Equal(t, `{"prefix_cache":{"a":"***"}}`, string(got))
}

func TestTree(t *testing.T) {
	var r Redactor
	r.Add("correcthorse")
	var v any
	require.NoError(t, json.Unmarshal([]byte(`{"api_key":"abc","keys":{"hf_token":["one","two"],"max_tokens":5},
		"api_keys":[["nested"]],"none_key":null,"password":"none","args":["--api-key x1y2","x correcthorse"],
		"eos_token":"</s>","url":"http://me:pw@host/"}`), &v))
	text, err := json.Marshal(r.Tree(v))
	require.NoError(t, err)
	require.JSONEq(t, `{"api_key":"***","keys":{"hf_token":["***","***"],"max_tokens":5},"api_keys":[["***"]],
		"none_key":null,"password":"none","args":["--api-key ***","x ***"],"eos_token":"</s>",
		"url":"http://***@host/"}`, string(text))
}
