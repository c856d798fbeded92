package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"time"
)

// fault is a server's possible behaviour in place of a full answer.
type fault struct {
	name    string
	codes   []string // causes of the failure that it explains
	retried bool     // another attempt may follow, because no byte of an answer was sent
	do      func(*call)
}

var faults = []fault{
	{name: "cut", codes: []string{"truncated", "reset"}, do: func(c *call) {
		c.token(1 + c.tokens/2)
		panic(http.ErrAbortHandler)
	}},
	{name: "refuse", codes: []string{"http_503"}, retried: true, do: func(c *call) {
		http.Error(c.w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
	}},
	{name: "hang up", codes: []string{"reset"}, retried: true, do: func(*call) { panic(http.ErrAbortHandler) }},
	{name: "swap", codes: []string{"wrong_model"}, do: func(c *call) {
		c.model = otherModel
		c.whole()
	}},
	{name: "stall", codes: []string{"timeout_request"}, do: func(c *call) {
		c.token(1)
		<-c.gone
	}},
	{name: "silence", codes: []string{"timeout_request"}, do: func(c *call) { <-c.gone }},
}

// Models of the servers.
const (
	servedModel = "chaos/model-a"
	otherModel  = "chaos/model-b"
)

// entry records how a server handled one request of the test itself.
type entry struct {
	Server int
	Fault  string `json:",omitempty"`
	Tokens int    // of the answer
	Whole  bool   // every byte of a good answer was written
	At     time.Time
	HTTP   int // major version

	Session string   `json:",omitempty"` // from the request's header
	Mark    string   // last token of the answer, which no other answer has
	Before  []string `json:",omitempty"` // marks in the request's prompt
}

// truth is the log of all servers.
type truth struct {
	mu      sync.Mutex
	entries []*entry
	marks   int
	event   func() // of the whole test; nil: none, or done
	eventAt int
}

func (t *truth) begin(e *entry) {
	t.mu.Lock()
	t.entries = append(t.entries, e)
	var event func()
	if len(t.entries) == t.eventAt {
		event, t.event = t.event, nil
	}
	t.mu.Unlock()
	if event != nil {
		event()
	}
}

func (t *truth) end(e *entry, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Whole, e.At = whole, time.Now()
}

// counts returns the number of entries by fault; "" are good answers.
func (t *truth) counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := map[string]int{}
	for _, e := range t.entries {
		n[e.Fault]++
	}
	return n
}

// server simulates one inference server.
type server struct {
	t      *trial
	number int
	http   *http.Server
	url    string
}

func (t *trial) serve(number int) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{t: t, number: number, url: "http://" + l.Addr().String()}
	s.http = &http.Server{Handler: s, ErrorLog: quiet, TLSConfig: t.secure}
	if t.secure == nil {
		go func() { _ = s.http.Serve(l) }() // until Close
		return s, nil
	}
	s.url = "https://" + l.Addr().String()
	go func() { _ = s.http.ServeTLS(l, "", "") }() // until Close; offers HTTP/2
	return s, nil
}

// marks are what Mark of an entry looks like.
var marks = regexp.MustCompile(`zq[0-9]+z`)

// mark returns the last token of the next answer.
func (t *truth) mark() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks++
	return fmt.Sprintf("zq%dz", t.marks)
}

// question is what the servers read of a request.
type question struct {
	Prompt   json.RawMessage // token ids, or a text
	Messages json.RawMessage
	Max      int `json:"max_tokens"`
	ChatMax  int `json:"max_completion_tokens"`
}

// tokens returns the length of the prompt: exact for token ids, and about right for texts.
func (q *question) tokens() int {
	var ids []int
	if json.Unmarshal(q.Prompt, &ids) == nil {
		return len(ids)
	}
	return 1 + (len(q.Prompt)+len(q.Messages))/5
}

// call is one request and its answer.
type call struct {
	w      http.ResponseWriter
	gone   <-chan struct{} // closed when the client has left
	model  string
	mark   string
	chat   bool
	prompt int
	tokens int
	broken bool // the client left before the end
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" {
		fmt.Fprintf(w, `{"object":"list","data":[{"id":%q,"object":"model","max_model_len":8192}]}`, servedModel)
		return
	}
	if r.URL.Path != "/v1/completions" && r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	var q question
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, json.Unmarshal(body, &q)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e := &entry{Server: s.number, Tokens: cmp.Or(q.Max, q.ChatMax), HTTP: r.ProtoMajor,
		Session: r.Header.Get(sessionHeader), Mark: s.t.log.mark(), Before: marks.FindAllString(string(body), -1)}
	c := &call{w: w, gone: r.Context().Done(), model: servedModel, prompt: q.tokens(), tokens: e.Tokens, mark: e.Mark,
		chat: r.URL.Path == "/v1/chat/completions"}
	if !s.t.begun() { // the preflight's question
		c.whole()
		return
	}
	f := s.t.strike()
	if f != nil {
		e.Fault = f.name
	}
	s.t.log.begin(e)
	if f != nil {
		defer s.t.log.end(e, false)
		f.do(c)
		return
	}
	c.whole()
	s.t.log.end(e, !c.broken)
}

// token writes the first n tokens of a stream, one by one.
func (c *call) token(n int) {
	c.w.Header().Set("Content-Type", "text/event-stream")
	for range n {
		c.piece(" a", "null")
		time.Sleep(200 * time.Microsecond)
	}
}

// whole writes a complete answer.
func (c *call) whole() {
	c.token(c.tokens - 1)
	c.piece(" "+c.mark, `"length"`)
	c.send(fmt.Sprintf(`"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, c.prompt,
		c.tokens, c.prompt+c.tokens))
	if _, err := fmt.Fprint(c.w, "data: [DONE]\n\n"); err != nil {
		c.broken = true
	}
}

// piece writes one token.
func (c *call) piece(text, finish string) {
	form := `"choices":[{"index":0,"text":%q,"logprobs":null,"finish_reason":%s}]`
	if c.chat {
		form = `"choices":[{"index":0,"delta":{"role":"assistant","content":%q},"finish_reason":%s}]`
	}
	c.send(fmt.Sprintf(form, text, finish))
}

func (c *call) send(fields string) {
	object := "text_completion"
	if c.chat {
		object = "chat.completion.chunk"
	}
	_, err := fmt.Fprintf(c.w, "data: {\"id\":\"c\",\"object\":%q,\"created\":1,\"model\":%q,%s}\n\n", object,
		c.model, fields)
	if err != nil {
		c.broken = true
	}
	c.w.(http.Flusher).Flush()
}
