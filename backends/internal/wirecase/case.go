package wirecase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

// Case is one request and the reply to it.
type Case struct {
	Name         string // wire/CASE or wire-real/CASE
	Method, Path string
	Request      json.RawMessage // body; empty: no body
	Status       int
	ContentType  string
	Response     []byte // status line, header and body as received, chunks included
	Body         []byte // without its chunks
	Meant        *Meant // nil: not recorded
}

// Meant is the required result of reading a reply.
type Meant struct {
	Outcome    string // ok, http_error or stream_error
	Kind       string `json:"error_kind"`
	Message    string `json:"error_message"`
	Choices    []Choice
	Partial    []Choice
	Usage      map[string]any
	FirstToken *int  `json:"first_token_event"`
	Counts     []int `json:"token_counts_per_event"`
	Status     int   `json:"http_status"`

	Models    []string `json:"model_ids"`
	MaxLen    int      `json:"max_model_len"`
	Version   string
	Tokens    []int32
	ModelPath string `json:"model_path"`
	Success   *bool
	Text      string
}

// Choice is one answer.
type Choice struct {
	Text   *string
	IDs    []int32 `json:"token_ids"`
	Finish *string `json:"finish_reason"`
}

// Streams reports whether the request asks for a stream.
func (c *Case) Streams() bool { return c.flag("stream") }

// NamesIDs reports whether the request asks for ids in the log probabilities.
func (c *Case) NamesIDs() bool { return c.flag("return_tokens_as_token_ids") }

func (c *Case) flag(name string) bool {
	var fields map[string]any
	if json.Unmarshal(c.Request, &fields) != nil { // some requests are invalid on purpose
		return bytes.Contains(c.Request, []byte(`"`+name+`":true`))
	}
	on, _ := fields[name].(bool)
	return on
}

// MaxTokens returns the limit of the answer's tokens in the request; 0: no limit.
func (c *Case) MaxTokens() int {
	var q struct {
		Max      int `json:"max_tokens"`
		Chat     int `json:"max_completion_tokens"`
		Predict  int `json:"n_predict"`
		Sampling struct {
			Max int `json:"max_tokens"`
			New int `json:"max_new_tokens"`
		} `json:"sampling_params"`
		Options struct {
			Predict int `json:"num_predict"`
		}
	}
	_ = json.Unmarshal(c.Request, &q) // some requests are invalid on purpose
	return max(q.Max, q.Chat, q.Predict, q.Sampling.Max, q.Sampling.New, q.Options.Predict)
}

// Prompts returns the number of prompts in the request.
func (c *Case) Prompts() int {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(c.Request, &fields)
	for _, key := range []string{"prompt", "input_ids"} {
		var many []json.RawMessage
		if json.Unmarshal(fields[key], &many) != nil || len(many) == 0 {
			continue
		}
		if first := bytes.TrimSpace(many[0]); first[0] == '[' || first[0] == '"' {
			return len(many)
		}
		return 1
	}
	return 1
}

// All reads every case of both folders. The test is skipped where they are absent.
func All(t testing.TB) []Case {
	t.Helper()
	var all []Case
	folders, err := filepath.Glob(filepath.Join(golden.Dir(t, "wire"), "*", "response.txt"))
	require.NoError(t, err)
	for _, file := range folders {
		all = append(all, composed(t, filepath.Dir(file)))
	}
	files, err := filepath.Glob(filepath.Join(golden.Dir(t, "wire-real"), "*.txt"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		c, err := transcript(data)
		require.NoError(t, err, file)
		c.Name = "wire-real/" + strings.TrimSuffix(filepath.Base(file), ".txt")
		all = append(all, c)
	}
	return all
}

// composed reads a folder of golden/wire.
func composed(t testing.TB, folder string) Case {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		return data
	}
	var request struct {
		Method, Path string
		Body         json.RawMessage
	}
	require.NoError(t, json.Unmarshal(read("request.json"), &request))
	c, err := reply(read("response.txt"))
	require.NoError(t, err, folder)
	c.Name, c.Method, c.Path, c.Request = "wire/"+filepath.Base(folder), request.Method, request.Path, request.Body
	c.Meant = new(Meant)
	require.NoError(t, json.Unmarshal(read("expect.json"), c.Meant))
	require.Equal(t, string(bytes.TrimSpace(read("body.txt"))), string(bytes.TrimSpace(c.Body)),
		"the body without its chunks")
	return c
}

// transcript reads a file of golden/wire-real: the request in lines of ###, then the reply without its chunks.
func transcript(data []byte) (Case, error) {
	sent, got, ok := bytes.Cut(data, []byte("HTTP/1.1 "))
	if !ok {
		return Case{}, fmt.Errorf("the transcript has no reply")
	}
	var method, path string
	var body []byte
	for line := range strings.SplitSeq(string(sent), "\n") {
		line, ok := strings.CutPrefix(line, "### ")
		fields := strings.Fields(line)
		switch {
		case !ok || len(fields) == 0:
		case len(fields) > 1 && strings.HasPrefix(fields[1], "/"):
			method, path = fields[0], fields[1]
		case method != "":
			body = append(body, line...)
		}
	}
	if method == "" {
		return Case{}, fmt.Errorf("the transcript has no request: %.100q", sent)
	}
	head, rest, _ := bytes.Cut(append([]byte("HTTP/1.1 "), got...), []byte("\r\n\r\n"))
	if strings.Contains(strings.ToLower(string(head)), "transfer-encoding: chunked") {
		rest = fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n\r\n", len(rest), rest)
	}
	c, err := reply(append(append(head, "\r\n\r\n"...), rest...))
	c.Method, c.Path, c.Request = method, path, body
	return c, err
}

// reply parses a reply.
func reply(response []byte) (Case, error) {
	head, body, ok := bytes.Cut(response, []byte("\r\n\r\n"))
	fields := bytes.Fields(head)
	if !ok || len(fields) < 2 {
		return Case{}, fmt.Errorf("the reply has no header: %.100q", response)
	}
	c := Case{Response: response, Body: body}
	var err error
	if c.Status, err = strconv.Atoi(string(fields[1])); err != nil {
		return Case{}, fmt.Errorf("the reply has no status: %.100q", response)
	}
	for line := range strings.SplitSeq(string(head), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case strings.EqualFold(name, "content-type"):
			c.ContentType = value
		case strings.EqualFold(name, "transfer-encoding") && value == "chunked":
			if c.Body, err = io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(body))); err != nil {
				return Case{}, fmt.Errorf("the chunks of the reply: %w", err)
			}
		}
	}
	return c, nil
}
