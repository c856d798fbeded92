package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

// server simulates one inference server and the HTTP proxy in front of it.
type server struct {
	sc      *scenario
	truth   *truth
	network string // tcp or unix
	address string
	secure  *tls.Config // nil: plain
	armed   func() bool // reports whether the timed phase has begun

	mu     sync.Mutex
	listen net.Listener
	closed bool // for good
	conns  map[net.Conn]bool
	index  int
	model  string // model that it serves
	opened int
	like   []byte // a request of a test with large ones, without its filler
	users  sync.WaitGroup
}

const (
	servedModel  = "chaos/model-a"
	anotherModel = "chaos/model-b"
)

// up listens on the server's address, or on a free one.
func (s *server) up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	l, err := net.Listen(s.network, s.address)
	if err != nil {
		return err
	}
	s.address = l.Addr().String()
	s.listen = l
	s.users.Add(1)
	go s.accept(l)
	return nil
}

func (s *server) accept(l net.Listener) {
	defer s.users.Done()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.listen != l || s.sc.ConnLimit > 0 && len(s.conns) >= s.sc.ConnLimit {
			s.mu.Unlock()
			_ = c.Close()
			s.truth.disturb("connection limit")
			continue
		}
		s.conns[c] = true
		s.opened++
		if t, ok := c.(*net.TCPConn); ok && s.sc.Big > 0 {
			_ = t.SetReadBuffer(1 << 16) // so that a request does not fit in it
		}
		number := s.opened
		s.users.Add(1)
		s.mu.Unlock()
		go s.serve(c, number)
	}
}

// down stops the server like a process that dies: it stops listening and closes every connection.
func (s *server) down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listen != nil {
		_ = s.listen.Close()
		s.listen = nil
	}
	for c := range s.conns {
		_ = c.Close()
	}
}

func (s *server) serves() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

func (s *server) serve(raw net.Conn, number int) {
	defer s.users.Done()
	c := raw
	defer func() {
		s.mu.Lock()
		delete(s.conns, raw)
		s.mu.Unlock()
		_ = c.Close()
	}()
	if s.sc.http2() {
		s.serveHTTP2(raw, number)
		return
	}
	if s.secure != nil && !s.sc.tunnelled() {
		c = tls.Server(raw, s.secure)
	}
	s.requests(c, raw, number)
}

// requests answers the requests of a connection by HTTP/1.1. The socket below it is raw.
func (s *server) requests(c, raw net.Conn, number int) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReaderSize(c, 1<<16)
	for n := 0; ; n++ {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		switch {
		case r.Method == http.MethodConnect: // the proxy's part
			if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
				return
			}
			c = tls.Server(raw, s.secure)
			in = bufio.NewReaderSize(c, 1<<16)
		case r.Method == http.MethodGet:
			if s.facts(c, r.URL.Path) != nil {
				return
			}
		default:
			if !s.answer(c, raw, in, r, number) {
				return
			}
		}
	}
}

// facts answers a GET.
func (s *server) facts(w io.Writer, path string) error {
	model := quoted(s.serves())
	text, ok := map[string]string{
		"/health": "", "/version": `{"version":"0.32.0"}`,
		"/v1/models": `{"object":"list","data":[{"id":` + model +
			`,"object":"model","owned_by":"chaos","max_model_len":8192}]}`,
		"/server_info": fmt.Sprintf(`{"version":"0.5.23","context_length":8192,"incremental_streaming_output":%t,`+
			`"served_model_name":%s,"model_path":%s}`, !s.sc.Cumulative, model, model),
		"/get_server_info": `{"version":"0.5.23","context_length":8192}`,
		"/model_info":      `{"model_path":` + model + `,"is_generation":true}`,
		"/get_model_info":  `{"model_path":` + model + `,"is_generation":true}`,
		"/props": `{"default_generation_settings":{"n_ctx":8192},"total_slots":64,"build_info":"b1","model_path":` +
			model + `}`,
		"/api/version": `{"version":"0.17.4"}`,
		"/api/tags":    `{"models":[{"name":` + model + `,"model":` + model + `}]}`,
	}[path]
	if s.sc.Protocol.Backend != "sglang" && strings.HasSuffix(path, "_info") {
		ok = false
	}
	status := "200 OK"
	if !ok {
		status, text = "404 Not Found", `{"detail":"Not Found"}`
	}
	_, err := fmt.Fprintf(w, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status,
		len(text), text)
	return err
}

// answer reads a request and sends its answer; false: the connection ends.
func (s *server) answer(conn, raw net.Conn, in *bufio.Reader, r *http.Request, number int) bool {
	c := &call{s: s, conn: conn, raw: raw, number: number, model: s.serves()}
	if r.URL.Path != s.sc.Protocol.Path {
		text := `{"detail":"Not Found"}`
		_, err := fmt.Fprintf(conn, "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: "+
			"%d\r\n\r\n%s", len(text), text)
		return err == nil
	}
	c.armed = s.armed()
	text, err := c.read(r)
	if err != nil {
		return false
	}
	if c.q, err = readQuery(text, &s.sc.Protocol.wire, r.Header.Get("X-Request-Id")); err != nil {
		s.truth.wrong("an unreadable request: %v", err)
		return false
	}
	for _, row := range c.q.rows {
		if row < 0 || row >= s.sc.Rows {
			s.truth.wrong("a request whose prompt is not in the data set: %.300s", text)
			return false
		}
	}
	c.e = s.truth.begin(c)
	if c.armed {
		s.truth.act()
	}
	c.build()
	if c.strike(); c.unread > 0 && c.e.Fault == "" {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return false
		}
	}
	c.send()
	s.truth.end(c)
	return !c.over
}

// call is one request and its answer.
type call struct {
	s      *server
	conn   net.Conn // what is written to
	raw    net.Conn // the socket below it
	number int      // of the connection
	q      *query
	e      *entry
	armed  bool
	over   bool // the connection ends with the answer
	unread int  // bytes of the request that were not read yet
	drawn  uint64

	model     string
	id        string
	parts     []part
	promptOff int  // added to the number of prompt tokens
	stringIDs bool // ids are written as strings
	switchAt  int  // event at which SGLang's stream changes its kind; 0: none

	docs    []doc  // of a stream
	text    string // of a whole answer
	framing framing
	then    after
	cut     int           // bytes of the answer that are sent; 0: all
	wait    time.Duration // before the first byte
	behind  string        // sent after the answer, in the same write
	again   time.Duration // delay after which the whole answer is sent again; 0: it is not
	instead string        // sent instead of everything
	nothing bool          // whether nothing is sent at all
	length  int           // difference added to Content-Length
}

// framing is how the end of an answer is marked.
type framing int

const (
	byChunks framing = iota
	byLength
	byClose
)

// after is what happens to the connection.
type after int

const (
	keepOpen after = iota
	hangUp
	resetIt
	stayMute
)

// build makes the genuine answer.
func (c *call) build() {
	sc, q := c.s.sc, c.q
	w := &sc.Protocol.wire
	for i, row := range q.rows {
		p := sc.genuine(row, q.limit)
		p.index, p.id = i, fmt.Sprintf("%016x", mix(sc.Seed, 31, uint64(c.e.N), uint64(i)))
		if sc.Echo && len(q.rids) == len(q.rows) {
			p.id = q.rids[i]
		}
		c.parts = append(c.parts, p)
	}
	c.id = w.prefix + c.parts[0].id
	switch {
	case sc.Echo && q.header != "" && sc.Protocol.Backend == "vllm":
		c.id = w.prefix + q.header
	case sc.Echo && len(q.rids) == len(q.rows) && sc.Protocol.Backend == "sglang":
		c.id = c.parts[0].id
	}
	c.framing = sc.Framing
	if !q.stream && c.framing == byChunks {
		c.framing = byLength
	}
	c.then = sc.then(c.e.N)
	c.render()
}

// render writes the documents of the parts.
func (c *call) render() {
	if c.q.stream {
		c.docs = c.s.sc.Protocol.wire.stream(c)
	} else {
		c.text = c.s.sc.Protocol.wire.whole(c)
	}
}

// segments are the answer's bytes, as they are written one after the other.
func (c *call) segments() []string {
	if c.instead != "" {
		return []string{c.instead}
	}
	kind := "application/json"
	pieces := []string{c.text}
	if c.q.stream && c.text == "" {
		pieces = c.pieces()
		kind = "text/event-stream; charset=utf-8"
		if c.s.sc.Protocol.wire.lines {
			kind = "application/x-ndjson"
		}
	}
	head := c.s.sc.Prelude + "HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\n"
	for _, f := range c.s.sc.Fields {
		head += f + "\r\n"
	}
	switch c.framing {
	case byChunks:
		head += "Transfer-Encoding: chunked\r\n"
		for i := range pieces {
			pieces[i] = fmt.Sprintf("%x%s\r\n%s\r\n", len(pieces[i]), c.s.sc.Extension, pieces[i])
		}
		pieces = append(pieces, "0\r\n\r\n")
	case byLength:
		head += fmt.Sprintf("Content-Length: %d\r\n", len(strings.Join(pieces, ""))+c.length)
	case byClose:
		head += "Connection: close\r\n"
		c.then = max(c.then, hangUp)
	}
	return append([]string{head + "\r\n"}, pieces...)
}

// pieces are the documents of a stream in their frames.
func (c *call) pieces() []string {
	sc := c.s.sc
	list := make([]string, 0, len(c.docs)+1)
	for _, d := range c.docs {
		switch {
		case sc.Protocol.wire.lines:
			list = append(list, d.text+"\n")
		default:
			field := sc.Comment
			if d.event != "" {
				field += "event: " + d.event + "\n"
			}
			list = append(list, field+sc.DataField+d.text+"\n\n")
		}
	}
	if done := sc.Protocol.wire.done; done != "" && !sc.NoDone {
		list = append(list, "data: "+done+"\n\n")
	}
	return list
}

// send writes the answer and ends the connection as the fault requires.
func (c *call) send() {
	time.Sleep(c.wait)
	parts := c.segments()
	if c.nothing {
		parts = nil
	}
	c.e.Whole = true
	if c.cut > 0 {
		parts = []string{strings.Join(parts, "")[:c.cut]}
		c.e.Whole = false
	}
	all := strings.Join(parts, "")
	if n := len(parts); n > 0 {
		parts[n-1] += c.behind
	}
	if c.s.sc.Pace == 0 {
		parts = []string{strings.Join(parts, "")}
	}
	for i, p := range parts {
		if i > 0 {
			time.Sleep(c.s.sc.Pace)
		}
		if _, err := io.WriteString(c.conn, p); err != nil {
			c.e.Whole, c.e.Broken, c.over = false, true, true
			return
		}
	}
	if c.again > 0 {
		time.Sleep(c.again)
		_, _ = io.WriteString(c.conn, all) // the client may have gone
	}
	switch c.then {
	case hangUp:
		c.over = true
	case resetIt:
		time.Sleep(30 * time.Millisecond) // a reset overtakes unread bytes
		if t, ok := c.raw.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
			_ = t.Close()
		}
		c.over = true
	case stayMute:
		c.over = true
		if c.unread > 0 { // reading more would let the client continue to send
			time.Sleep(patient)
			return
		}
		_ = c.raw.SetReadDeadline(time.Now().Add(time.Minute))
		_, _ = io.Copy(io.Discard, c.raw) // until the client closes
	}
}

// patient is how long the server waits for the rest of a request that it has answered.
const patient = 500 * time.Millisecond

// known is the length of the beginning of a large request that identifies it: its row, before the filler.
const known = 4 << 10

// read reads a request. Of a large one it reads the beginning and appends the end that all requests share.
func (c *call) read(r *http.Request) ([]byte, error) {
	sc := c.s.sc
	c.s.mu.Lock()
	like := c.s.like
	c.s.mu.Unlock()
	if sc.Big == 0 || r.ContentLength < int64(sc.Big) || len(like) == 0 {
		text, err := io.ReadAll(r.Body)
		if err == nil && sc.Big > 0 {
			text = bytes.ReplaceAll(text, []byte(filler(sc.Big)), nil)
		}
		if err == nil && c.armed { // a truncated request must not be the template
			c.s.mu.Lock()
			c.s.like = text
			c.s.mu.Unlock()
		}
		return text, err
	}
	begin := make([]byte, known)
	if _, err := io.ReadFull(r.Body, begin); err != nil {
		return nil, err
	}
	c.unread = int(r.ContentLength) - known
	for _, own := range ownInText {
		if found := own.Find(begin); found != nil {
			like = own.ReplaceAllLiteral(like, found)
		}
	}
	return like, nil
}

// ownInText are the parts that differ between requests: the sentence that names the row, and the id.
var ownInText = []*regexp.Regexp{regexp.MustCompile(`Row \d+ of the set, please\.`),
	regexp.MustCompile(`"rid":"[^"]*"`)}

// exists reports whether a file exists.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
