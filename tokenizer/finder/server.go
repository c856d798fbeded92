package finder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/httpclient"
)

// Server is a server whose tokenizer may be used.
type Server struct {
	URL   string // base URL without /v1
	Model string // the server's name for the model; empty if it serves only one
	Key   Secret // API key; may be empty
}

// Limits for a server's answer.
const (
	mostAnswerBytes = 16 << 20
	serverTimeout   = 60 * time.Second
)

// remote is a server's tokenizer.
type remote struct {
	server Server
	client *http.Client
	base   string // base of request URLs: the server's URL, or a placeholder host for a Unix socket
}

// unixScheme starts the URL of a server that listens on a Unix socket; the path follows.
const unixScheme = "unix://"

// onServer uses the server's tokenizer if it encodes one letter. If text without special tokens is needed, it also
// tries to decode, so that a server that cannot omit them is found before the test and not after it.
func onServer(ctx context.Context, s *search, _ []string) *Found {
	const way = "from the server"
	if s.o.Server == nil {
		s.note(way, errors.New("no endpoint given"))
		return nil
	}
	server := *s.o.Server
	server.URL = strings.TrimSuffix(strings.TrimSuffix(server.URL, "/"), "/v1")
	web, base := s.o.Web, server.URL
	web.Timeout = serverTimeout
	if socket, ok := strings.CutPrefix(server.URL, unixScheme); ok {
		web.Socket, base = socket, "http://localhost"
	}
	r := &remote{server, httpclient.New(web), base}
	ids, err := r.encode(ctx, "a", false)
	if err == nil && len(ids) == 0 {
		err = fmt.Errorf("%s/tokenize returned no token for a letter", server.URL)
	}
	if err == nil && s.o.Plain {
		_, err = r.decode(ctx, ids, true)
	}
	if err != nil {
		s.note(way, err)
		return nil
	}
	return &Found{Source: Source{Way: ByServer, Name: server.Model, Place: server.URL}, remote: r}
}

// encode sends the request fields of all servers together. vLLM and SGLang read prompt, llama.cpp reads content, and
// each ignores unknown fields (docs/reference/wire-protocols.md#tokenizer-routes).
func (r *remote) encode(ctx context.Context, text string, addSpecial bool) ([]int32, error) {
	body := map[string]any{"prompt": text, "content": text, "add_special_tokens": addSpecial, "add_special": addSpecial}
	var reply struct {
		Tokens *[]int32 `json:"tokens"`
	}
	if err := r.post(ctx, "/tokenize", body, &reply); err != nil {
		return nil, err
	}
	if reply.Tokens == nil {
		return nil, fmt.Errorf("%s/tokenize answers without the field tokens", r.server.URL)
	}
	return *reply.Tokens, nil
}

// decode returns the text of ids. vLLM and llama.cpp always keep special tokens; only SGLang, recognized by its field
// text, is known to omit them.
func (r *remote) decode(ctx context.Context, ids []int32, skipSpecial bool) (string, error) {
	if len(ids) == 0 {
		return "", nil
	}
	var reply struct {
		Text    *string `json:"text"`    // SGLang
		Prompt  *string `json:"prompt"`  // vLLM
		Content *string `json:"content"` // llama.cpp
	}
	if err := r.post(ctx, "/detokenize", map[string]any{"tokens": ids, "skip_special_tokens": skipSpecial},
		&reply); err != nil {
		return "", err
	}
	for _, text := range []*string{reply.Text, reply.Prompt, reply.Content} {
		switch {
		case text == nil:
		case skipSpecial && text != reply.Text:
			return "", fmt.Errorf("%s/detokenize does not omit special tokens; name the "+
				"model's tokenizer.json with --tokenizer", r.server.URL)
		default:
			return *text, nil
		}
	}
	return "", fmt.Errorf("%s/detokenize answers without the fields text, prompt and content", r.server.URL)
}

func (r *remote) post(ctx context.Context, path string, body map[string]any, into any) error {
	if r.server.Model != "" {
		body["model"] = r.server.Model
	}
	b, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding a request for %s: %w", path, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if r.server.Key != "" {
		req.Header.Set("Authorization", "Bearer "+string(r.server.Key))
	}
	reply, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	data, err := httpclient.ReadBody(reply, mostAnswerBytes)
	switch {
	case reply.StatusCode/100 == 3:
		return fmt.Errorf("%s%s redirects (%s), which is not followed because the request carries the key and the prompts; "+
			"name the final address", r.server.URL, path, reply.Status)
	case err != nil:
		return fmt.Errorf("reading the answer of %s%s: %w", r.server.URL, path, err)
	case reply.StatusCode != http.StatusOK:
		return fmt.Errorf("%s%s answers %s: %.200q", r.server.URL, path, reply.Status, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s%s does not answer with JSON of ids: %w: %.200q", r.server.URL, path, err, data)
	}
	return nil
}
