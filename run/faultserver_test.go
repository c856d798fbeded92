package run

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// faultServer is a server of completions that writes its bytes itself, so that a row of the fault table can send what
// no HTTP library would send. Requests whose prompt begins with a multiple of faultEvery get the row's reply, all
// others a good answer.
type faultServer struct {
	url      string
	reply    func(*call)
	asked    func(path string) // called after each answer to a GET; nil: not called
	listener net.Listener

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	users  sync.WaitGroup
	echo   atomic.Bool            // answers carry the ids of their requests, as vLLM's do
	models atomic.Pointer[string] // the answer of /v1/models; nil: that of facts
}

// faultEvery is the share of samples that a row strikes, by their prompts, so that a repeated request is struck again.
const faultEvery = 4

// goodTokens are the tokens of every good answer.
const goodTokens = 4

// call is one request for an answer and the connection that it came on.
type call struct {
	server *faultServer
	conn   net.Conn
	prompt []int32
	stream bool
	usage  bool
	path   string
	id     string // X-Request-Id or rid
	byRID  bool
	hangUp bool // the reply ends the connection
}

func serveFaults(t *testing.T, reply func(*call)) *faultServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return serveFaultsOn(t, l, "http://"+l.Addr().String(), reply)
}

// serveFaultsOver is serveFaults over TLS, for the authority in a file.
func serveFaultsOver(t *testing.T, secure *tls.Config, reply func(*call)) *faultServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return serveFaultsOn(t, tls.NewListener(l, secure), "https://"+l.Addr().String(), reply)
}

func serveFaultsOn(t *testing.T, l net.Listener, url string, reply func(*call)) *faultServer {
	s := &faultServer{url: url, reply: reply, listener: l, conns: map[net.Conn]bool{}}
	s.users.Add(1)
	go s.accept()
	t.Cleanup(func() { s.close(); s.users.Wait() })
	return s
}

func (s *faultServer) accept() {
	defer s.users.Done()
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			_ = c.Close()
			continue
		}
		s.conns[c] = true
		s.users.Add(1)
		s.mu.Unlock()
		go s.serve(c)
	}
}

// close ends the server like a process that dies: no port listens, and every connection ends.
func (s *faultServer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	_ = s.listener.Close()
	for c := range s.conns {
		_ = c.Close()
	}
}

func (s *faultServer) serve(c net.Conn) {
	defer s.users.Done()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		_ = c.Close()
	}()
	in := bufio.NewReaderSize(c, 1<<16)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if r.Method == http.MethodGet {
			if models := s.models.Load(); models != nil && r.URL.Path == "/v1/models" {
				writeAnswer(c, "200 OK", *models)
			} else {
				writeFacts(c, r.URL.Path)
			}
			if s.asked != nil {
				s.asked(r.URL.Path)
			}
			continue
		}
		x, err := s.read(c, r)
		if err != nil {
			return
		}
		if x.prompt[0]%faultEvery == 0 {
			s.reply(x)
		} else {
			x.good()
		}
		if x.hangUp {
			return
		}
	}
}

// facts are the answers to the probe.
var facts = map[string]string{
	"/v1/models":      `{"object":"list","data":[{"id":"m","object":"model","max_model_len":8192}]}`,
	"/version":        `{"version":"0.32.0"}`,
	"/api/version":    `{"version":"0.17.4"}`,
	"/api/tags":       `{"models":[{"name":"m","model":"m"}]}`,
	"/get_model_info": `{"model_path":"m","is_generation":true}`,
	"/health":         "",
}

func writeFacts(w io.Writer, path string) {
	text, ok := facts[path]
	status := "200 OK"
	if !ok {
		status = "404 Not Found"
	}
	writeAnswer(w, status, text)
}

func writeAnswer(w io.Writer, status, text string) {
	fmt.Fprintf(w, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(text),
		text)
}

func (s *faultServer) read(c net.Conn, r *http.Request) (*call, error) {
	var body struct {
		Prompt        json.RawMessage `json:"prompt"`
		InputIDs      []int32         `json:"input_ids"`
		Stream        bool            `json:"stream"`
		TokenIDs      []int32         `json:"token_ids"`
		RID           string          `json:"rid"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, err
	}
	x := &call{server: s, conn: c, prompt: append(body.InputIDs, body.TokenIDs...), stream: body.Stream,
		usage: body.StreamOptions.IncludeUsage,
		path:  r.URL.Path, id: r.Header.Get("X-Request-Id") + body.RID, byRID: body.RID != ""}
	if len(body.Prompt) > 0 {
		if err := json.Unmarshal(body.Prompt, &x.prompt); err != nil {
			return nil, err
		}
	}
	for _, m := range body.Messages { // a chat's text is its row's number
		var row int32
		if _, err := fmt.Sscanf(m.Content, "row %d", &row); err == nil {
			x.prompt = []int32{row}
		}
	}
	if len(x.prompt) == 0 {
		return nil, fmt.Errorf("a request without a prompt: %s", text)
	}
	return x, nil
}

// raw writes bytes unchanged. An error means that the client closed the connection, which the row may intend.
func (x *call) raw(parts ...string) {
	_, _ = io.WriteString(x.conn, strings.Join(parts, ""))
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: " +
	"chunked\r\n\r\n"

// chunk frames a part of a body.
func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// data is an event in its own chunk.
func data(json string) string { return chunk("data: " + json + "\n\n") }

const lastChunk = "0\r\n\r\n"

// token is an event of vLLM's completions with one id.
func token(id int, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return fmt.Sprintf(`{"id":"cmpl-1","object":"text_completion","model":"m","choices":[{"index":0,"text":" t%d","token_ids":[%d],"finish_reason":%s}]}`, id, id, finish)
}

func usageOf(prompt, n int) string {
	return fmt.Sprintf(`{"id":"cmpl-1","object":"text_completion","model":"m","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`, prompt, n, prompt+n)
}

// events are the tokens of a good answer. The last one has the finish_reason.
func (x *call) events() []string {
	list := make([]string, goodTokens)
	for i := range list {
		finish := "null"
		if i == goodTokens-1 {
			finish = "length"
		}
		list[i] = data(x.named(token(10+i, finish)))
	}
	return list
}

// named puts the request's id into a document, as real servers do.
func (x *call) named(document string) string {
	if !x.server.echo.Load() {
		return document
	}
	id := `"id":"cmpl-` + x.id + `"`
	if x.byRID {
		id = `"id":"` + x.id + `"`
	}
	document = strings.ReplaceAll(document, `"id":"cmpl-1"`, id)
	document = strings.ReplaceAll(document, `"id":"chatcmpl-1"`, `"id":"chatcmpl-`+x.id+`"`)
	document = strings.ReplaceAll(document, `"request_id":"1"`, `"request_id":"generate-tokens-`+x.id+`"`)
	return document
}

// trailer follows the last token.
func (x *call) trailer() string {
	if x.usage {
		return data(x.named(usageOf(len(x.prompt), goodTokens))) + data("[DONE]") + lastChunk
	}
	return data("[DONE]") + lastChunk
}

// whole is the body of a good answer without a stream.
func (x *call) whole() string {
	return x.named(fmt.Sprintf(`{"id":"cmpl-1","object":"text_completion","model":"m","choices":[{"index":0,"text":" t","token_ids":[10,11,12,13],"finish_reason":"length"}],"usage":{"prompt_tokens":%d,"completion_tokens":4,"total_tokens":%d}}`,
		len(x.prompt), len(x.prompt)+goodTokens))
}

// status writes an answer with another status or another content type than the client requested.
func (x *call) status(line, contentType, body string, headers ...string) {
	head := ""
	for _, h := range headers {
		head += h + "\r\n"
	}
	x.raw(fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s", line, contentType, len(body),
		head, body))
}

func (x *call) good() {
	switch {
	case strings.HasSuffix(x.path, "/inference/v1/generate"):
		x.goodGenerate()
	case strings.HasSuffix(x.path, "/generate"):
		x.goodNative()
	case strings.HasSuffix(x.path, "/chat/completions"):
		x.goodChat()
	case x.stream:
		x.raw(streamHead, strings.Join(x.events(), ""), x.trailer())
	default:
		x.status("200 OK", "application/json", x.whole())
	}
}

// goodChat answers on the route of chats.
func (x *call) goodChat() {
	document := func(choices string, n int) string {
		return x.named(fmt.Sprintf(`{"id":"chatcmpl-1","model":"m","choices":[%s],"usage":{"prompt_tokens":3,"completion_tokens":%d,"total_tokens":%d}}`, choices, n, 3+n))
	}
	if !x.stream {
		x.status("200 OK", "application/json", document(
			`{"index":0,"message":{"role":"assistant","content":" t10 t11 t12 t13"},"finish_reason":"length"}`, goodTokens))
		return
	}
	x.raw(streamHead)
	for i := range goodTokens {
		finish := "null"
		if i == goodTokens-1 {
			finish = `"length"`
		}
		x.raw(data(document(fmt.Sprintf(`{"index":0,"delta":{"content":" t%d"},"finish_reason":%s}`, 10+i, finish), i+1)))
	}
	x.raw(data(document("", goodTokens)), data("[DONE]"), lastChunk)
}

// goodGenerate answers on vLLM's generate route.
func (x *call) goodGenerate() {
	document := func(ids, finish string, n int) string {
		return x.named(fmt.Sprintf(`{"request_id":"1","choices":[{"index":0,"token_ids":[%s],"finish_reason":%s}],"usage":{"prompt_tokens":3,"completion_tokens":%d}}`, ids, finish, n))
	}
	if !x.stream {
		x.status("200 OK", "application/json", document("10,11,12,13", `"length"`, 4))
		return
	}
	x.raw(streamHead, data(document("10,11", "null", 2)), data(document("12,13", `"length"`, 4)), data("[DONE]"),
		lastChunk)
}

// native is an event of SGLang's own route. Its ids are all so far, or those since the previous event, as the row
// chooses.
func native(ids string, n int, finish string) string {
	text := " t" + strings.ReplaceAll(ids, ",", " t")
	return data(fmt.Sprintf(`{"text":"%s","output_ids":[%s],"meta_info":{"id":"1","finish_reason":%s,"prompt_tokens":3,"completion_tokens":%d}}`, text, ids, finish, n))
}

const nativeLength = `{"type":"length","length":4}`

func (x *call) goodNative() {
	if !x.stream {
		x.status("200 OK", "application/json", fmt.Sprintf(`{"text":" t","output_ids":[10,11,12,13],"meta_info":{"id":"1","finish_reason":%s,"prompt_tokens":3,"completion_tokens":4}}`, nativeLength))
		return
	}
	x.raw(streamHead, native("10", 1, "null"), native("10,11", 2, "null"), native("10,11,12", 3, "null"),
		native("10,11,12,13", 4, nativeLength), data("[DONE]"), lastChunk)
}

// drip writes bytes one by one.
func (x *call) drip(text string, pause time.Duration) {
	for i := range len(text) {
		if _, err := io.WriteString(x.conn, text[i:i+1]); err != nil {
			return
		}
		time.Sleep(pause)
	}
}

// silent waits until the client ends the request.
func (x *call) silent() {
	x.hangUp = true
	_ = x.conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, _ = io.Copy(io.Discard, x.conn)
}

// reset ends the connection with a RST.
func (x *call) reset() {
	x.hangUp = true
	if c, ok := x.below().(*net.TCPConn); ok {
		_ = c.SetLinger(0)
		_ = c.Close() // before TLS announces an end
	}
}

// below is the connection that carries TLS, or the connection itself.
func (x *call) below() net.Conn {
	if c, ok := x.conn.(*tls.Conn); ok {
		return c.NetConn()
	}
	return x.conn
}

// halfClose closes the server's sending side; the server could still read.
func (x *call) halfClose() {
	if c, ok := x.conn.(*tls.Conn); ok {
		_ = c.CloseWrite()
	}
	if c, ok := x.below().(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
	x.silent()
}
