package sim

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/datasets"
)

func TestStreamOfOnePrompt(t *testing.T) {
	v := serve(t, func(c *Config) { c.Answers = AnswerEcho })
	body := v.mustPost("/v1/completions", `{"model":"toy","prompt":[1001,240,159,152,128,1002],"max_tokens":20,"stream":true,"return_token_ids":true,"stream_options":{"include_usage":true}}`,
		"X-Request-Id: hdr-77")
	ev := events(t, body)
	require.Len(t, ev, 9, "seven tokens, usage, end")
	require.Equal(t, "[DONE]", ev[8])
	first := decode(t, ev[0])
	require.Equal(t, "cmpl-hdr-77", first.ID)
	require.Equal(t, []int32{1001, 240, 159, 152, 128, 1002}, first.Choices[0].PromptTokenIDs)
	var texts []string
	for _, e := range ev[:7] {
		m := decode(t, e)
		texts = append(texts, m.Choices[0].Text)
		require.Nil(t, m.Usage)
		require.Len(t, m.Choices[0].TokenIDs, 1)
	}
	words := datasets.SynthVocabulary()
	require.Equal(t, []string{words.Decode([]int32{1001}), "", "", "", "😀", words.Decode([]int32{1002}), ""}, texts,
		"an incomplete character is held back")
	require.Equal(t, &usage{6, 13, 7}, decode(t, ev[7]).Usage)
	ids, _, finish := joined(t, body, 0)
	require.Equal(t, []int32{1001, 240, 159, 152, 128, 1002, 128009}, ids)
	require.Equal(t, "stop", finish)
}

func TestIncompleteCharacterAtTheEnd(t *testing.T) {
	v := serve(t, func(c *Config) { c.Answers = AnswerEcho })
	_, text, finish := joined(t, v.mustPost("/v1/completions", `{"prompt":[1001,240,159],"max_tokens":3,"stream":true}`), 0)
	require.Equal(t, "length", finish)
	require.True(t, strings.HasSuffix(text, "\ufffd"), text)
}

func TestStreamAndPlainAgree(t *testing.T) {
	v := serve(t, nil)
	const req = `{"model":"toy","prompt":[[1,2,3],[4,5]],"max_tokens":50,"return_token_ids":true`
	plain := decode(t, v.mustPost("/v1/completions", req+`}`))
	stream := v.mustPost("/v1/completions", req+`,"stream":true}`)
	require.Len(t, plain.Choices, 2)
	for i, c := range plain.Choices {
		ids, text, finish := joined(t, stream, i)
		require.Equal(t, c.TokenIDs, ids)
		require.Equal(t, c.Text, text)
		require.Equal(t, *c.FinishReason, finish)
		require.Len(t, ids, 8)
	}
	require.Equal(t, &usage{5, 21, 16}, plain.Usage)
}

func TestTokensPerEvent(t *testing.T) {
	v := serve(t, func(c *Config) { c.TokensPerEvent, c.OutputTokens = 4, 11 })
	sizes := func(extra string) (out []int) {
		for _, e := range events(t, v.mustPost("/v1/completions",
			`{"prompt":[7],"max_tokens":99,"stream":true,"return_token_ids":true`+extra+`}`)) {
			if e != "[DONE]" {
				out = append(out, len(decode(t, e).Choices[0].TokenIDs))
			}
		}
		return out
	}
	require.Equal(t, []int{1, 4, 4, 2}, sizes(""))
	require.Equal(t, []int{1, 6, 4}, sizes(`,"stream_interval":6`))
	require.Equal(t, []int{1, 4, 4, 2}, sizes(`,"stream_interval":2`), "the request only raises the server's own")
}

func TestContinuousUsage(t *testing.T) {
	v := serve(t, nil)
	ev := events(t, v.mustPost("/v1/completions",
		`{"prompt":[7,8],"max_tokens":3,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`))
	for i, want := range []usage{{2, 3, 1}, {2, 4, 2}, {2, 5, 3}, {2, 5, 3}} {
		require.Equal(t, &want, decode(t, ev[i]).Usage)
	}
}

func TestLimitsOfTheAnswer(t *testing.T) {
	v := serve(t, func(c *Config) { c.Answers, c.MaxModelLen = AnswerEcho, 20 })
	cases := []struct {
		name, fields, finish string
		tokens               int
		stop                 any
	}{
		{"default is 16", `"ignore_eos":true`, "length", 16, nil},
		{"capped to the context", `"max_tokens":20,"ignore_eos":true`, "length", 17, nil},
		{"end of the answer", `"max_tokens":10`, "stop", 4, nil},
		{"cut", `"max_tokens":2`, "length", 2, nil},
		{"cut where only EOS is missing", `"max_tokens":3`, "length", 3, nil},
		{"minimum", `"max_tokens":10,"min_tokens":6`, "stop", 7, nil},
		{"minimum that is the answer", `"max_tokens":10,"min_tokens":3`, "stop", 4, nil},
		{"stop id", `"max_tokens":10,"stop_token_ids":[12]`, "stop", 2, float64(12)},
		{"stop id under the minimum", `"max_tokens":10,"stop_token_ids":[12],"min_tokens":2`, "stop", 4, nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			m := decode(t, v.mustPost("/v1/completions", `{"prompt":[11,12,13],"return_token_ids":true,`+tc.fields+`}`))
			c := m.Choices[0]
			require.Len(t, c.TokenIDs, tc.tokens)
			require.Equal(t, tc.tokens, m.Usage.Completion)
			require.Equal(t, tc.finish, *c.FinishReason)
			require.Equal(t, tc.stop, c.StopReason)
		})
	}
}

// Every dialect reports which data set's answers the simulator has, if any.
func TestIdentity(t *testing.T) {
	for _, dialect := range Dialects() {
		for answers, want := range map[AnswerMode]string{AnswerReference: "5a", AnswerEcho: "", AnswerRandom: ""} {
			v := serve(t, func(c *Config) {
				c.Dialect, c.Answers = dialect, answers
				c.Dataset = &datasets.Dataset{SHA256: "5a", Samples: []datasets.Sample{{Input: "a", Target: "b"}}}
			})
			status, body := v.get(IdentityPath)
			require.Equal(t, 200, status)
			require.JSONEq(t, `{"references":"`+want+`"}`, body)
		}
	}
	_, body := serve(t, nil).get(IdentityPath)
	require.JSONEq(t, `{"references":""}`, body)
}

func TestChat(t *testing.T) {
	v := serve(t, func(c *Config) {
		c.Answers = AnswerReference
		c.Dataset = &datasets.Dataset{Samples: []datasets.Sample{{Input: "Where is the mill?", Target: "By the river."}}}
	})
	const req = `{"model":"toy","messages":[{"role":"system","content":[{"type":"text","text":"Be brief."}]},{"role":"user","content":"Where is the mill?"}],"return_token_ids":true`
	plain := decode(t, v.mustPost("/v1/chat/completions", req+`}`))
	require.Equal(t, "By the river.", plain.Choices[0].Message.Content)
	ev := events(t, v.mustPost("/v1/chat/completions", req+`,"stream":true,"stream_options":{"include_usage":true}}`))
	role := decode(t, ev[0])
	require.Equal(t, "assistant", role.Choices[0].Delta.Role)
	require.Empty(t, role.Choices[0].TokenIDs)
	text := ""
	for _, e := range ev[1 : len(ev)-2] {
		text += *decode(t, e).Choices[0].Delta.Content
	}
	require.Equal(t, "By the river.", text)
	require.Equal(t, plain.Usage.Completion, decode(t, ev[len(ev)-2]).Usage.Completion)
	status, _, body, err := v.post("/v1/chat/completions",
		`{"messages":[{"role":"user","content":[{"type":"video_url"}]}]}`)
	require.NoError(t, err)
	require.Equal(t, 400, status)
	require.Contains(t, body, "parts of type text and image_url")
}

func TestBadRequests(t *testing.T) {
	v := serve(t, func(c *Config) { c.MaxModelLen, c.OutputTokens = 64, 8 })
	long, err := json.Marshal(make([]int, 65))
	require.NoError(t, err)
	full, err := json.Marshal(make([]int, 64))
	require.NoError(t, err)
	cases := []struct {
		name, body string
		status     int
		kind, part string
	}{
		{"other model", `{"model":"nope","prompt":[1]}`, 404, "NotFoundError", "served: toy"},
		{"no prompt", `{"model":"toy"}`, 400, "BadRequestError", "At least one prompt"},
		{"empty ids", `{"prompt":[]}`, 400, "BadRequestError", "At least one prompt"},
		{"empty inner ids", `{"prompt":[[]]}`, 400, "BadRequestError", "at least one token"},
		{"empty text", `{"prompt":""}`, 400, "BadRequestError", "at least one token"},
		{"id outside", `{"prompt":[1,128256]}`, 400, "BadRequestError", "Token id 128256"},
		{"negative id", `{"prompt":[-4]}`, 400, "Bad Request", "must not be negative"},
		{"fraction", `{"prompt":[1.5]}`, 400, "Bad Request", "whole number"},
		{"mixed", `{"prompt":[1,"a"]}`, 400, "Bad Request", "whole number"},
		{"mixed the other way", `{"prompt":["a",1]}`, 400, "Bad Request", "strings only"},
		{"too long", `{"prompt":` + string(long) + `}`, 400, "BadRequestError", "65 tokens"},
		{"no room", `{"prompt":` + string(full) + `}`, 400, "BadRequestError", "no room"},
		{"max_tokens 0", `{"prompt":[1],"max_tokens":0}`, 400, "BadRequestError", "max_tokens is 0"},
		{"max_tokens above the context", `{"prompt":[1],"max_tokens":65}`, 400, "BadRequestError", "max_model_len=64"},
		{"min above max", `{"prompt":[1],"max_tokens":2,"min_tokens":4}`, 400, "BadRequestError", "min_tokens is 4"},
		{"n", `{"prompt":[1],"n":2}`, 400, "BadRequestError", "n must be 1"},
		{"stream options alone", `{"prompt":[1],"stream_options":{"include_usage":true}}`, 400, "BadRequestError",
			"stream_options"},
		{"wrong type", `{"prompt":[1],"max_tokens":"many"}`, 400, "Bad Request", "max_tokens"},
		{"no JSON", `{"model":`, 400, "Bad Request", "JSON"},
		{"no object", `[1]`, 400, "Bad Request", "JSON"},
		{"rest", `{"prompt":[1]} x`, 400, "Bad Request", "JSON"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			status, header, body, err := v.post("/v1/completions", tc.body)
			require.NoError(t, err)
			require.Equal(t, tc.status, status, body)
			require.Equal(t, "application/json", header.Get("Content-Type"))
			var e struct {
				Error struct {
					Message, Type string
					Code          int
				}
			}
			require.NoError(t, json.Unmarshal([]byte(body), &e))
			require.Equal(t, tc.kind, e.Error.Type)
			require.Equal(t, tc.status, e.Error.Code)
			require.Contains(t, e.Error.Message, tc.part)
		})
	}
	t.Run("too many forced tokens", func(t *testing.T) {
		wide := serve(t, nil)
		many, err := json.Marshal(slices.Repeat([][]int{{1}}, 40))
		require.NoError(t, err)
		status, _, body, err := wide.post("/v1/completions",
			`{"prompt":`+string(many)+`,"max_tokens":131000,"ignore_eos":true}`)
		require.NoError(t, err)
		require.Equal(t, 400, status)
		require.Contains(t, body, "forces 5240000 output tokens")
	})
	t.Run("unknown fields pass", func(t *testing.T) {
		v.mustPost("/v1/completions", `{"prompt":[1],"no_such":{"a":[1,"}",{}]},"temperature":0}`)
	})
	t.Run("no content type", func(t *testing.T) {
		resp, err := v.client.Post(v.url("/v1/completions"), "", strings.NewReader(`{"prompt":[1]}`))
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, 400, resp.StatusCode)
	})
	require.Zero(t, v.Stats().Running+v.Stats().Waiting)
}

func TestOtherRoutes(t *testing.T) {
	v := serve(t, nil)
	cases := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/health", "", 200, ""},
		{"GET", "/ping", "", 200, ""},
		{"POST", "/ping", "", 200, ""},
		{"GET", "/version", "", 200, `{"version":"` + Version + `"}`},
		{"GET", "/load", "", 200, `{"server_load":0}`},
		{"GET", "/v1/nope", "", 404, `{"detail":"Not Found"}`},
		{"GET", "/v1/completions", "", 405, `{"detail":"Method Not Allowed"}`},
		{"HEAD", "/health", "", 405, ""},
		{"POST", "/tokenize", `{"prompt":"ab"}`, 200,
			`{"count":2,"max_model_len":131072,"tokens":[97,98],"token_strs":null}`},
		{"POST", "/tokenize", `{"prompt":"ab","return_token_strs":true}`, 200,
			`{"count":2,"max_model_len":131072,"tokens":[97,98],"token_strs":["a","b"]}`},
		{"POST", "/tokenize", `{"messages":[{"role":"u","content":"b"}]}`, 200,
			`{"count":4,"max_model_len":131072,"tokens":[117,10,98,10],"token_strs":null}`},
		{"POST", "/detokenize", `{"tokens":[97,34,98]}`, 200, `{"prompt":"a\"b"}`},
		{"POST", "/detokenize", `{"model":"other","tokens":[]}`, 404,
			`{"error":{"message":"No model ` + "`other`" +
				` here; served: toy.","type":"NotFoundError","param":"model","code":404}}`},
	}
	for _, tc := range cases {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			req, err := http.NewRequest(tc.method, v.url(tc.path), strings.NewReader(tc.body))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json; charset=utf-8")
			resp, err := v.client.Do(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, tc.status, resp.StatusCode)
			require.Equal(t, tc.want, string(b))
		})
	}
	_, models := v.get("/v1/models")
	require.Contains(t, models, `"id":"toy"`)
	require.Contains(t, models, `"max_model_len":131072`)
}

func TestAPIKey(t *testing.T) {
	v := serve(t, func(c *Config) { c.APIKey = "open sesame" })
	status, _, body, err := v.post("/v1/completions", `{"prompt":[1]}`)
	require.NoError(t, err)
	require.Equal(t, 401, status)
	require.Equal(t, `{"error":"Unauthorized"}`, body)
	v.mustPost("/v1/completions", `{"prompt":[1]}`, "Authorization: Bearer open sesame")
	status, _ = v.get("/health")
	require.Equal(t, 200, status, "only /v1 is guarded")
}
