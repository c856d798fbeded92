package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"
)

// handler answers one request and returns what to do with the connection.
type handler func(s *Server, c *conn, req *http.Request, body []byte, arrival int64) after

// routes maps paths to their methods.
type routes map[string]map[string]handler

var (
	vllmRoutes = routes{
		"/start_profile":       {"POST": (*Server).startProfile},
		"/stop_profile":        {"POST": (*Server).stopProfile},
		"/v1/completions":      generating(completions),
		"/v1/chat/completions": generating(chat),
		"/v1/embeddings":       generating(embeddings),
		"/v1/messages":         generating(messages),
		"/v1/responses":        generating(responses),
		"/v1/rerank":           generating(rerank),
		"/rerank":              generating(rerank),
		"/v1/models":           get("application/json", (*pages).models),
		"/reset_prefix_cache":  {"POST": fixed("application/json", (*pages).emptyCache)},
		"/health":              get("", nothing),
		"/ping":                {"GET": fixed("", nothing), "POST": fixed("", nothing)},
		"/version":             get("application/json", (*pages).versionOnly),
		"/load":                get("application/json", (*pages).load),
		"/metrics":             get(metricsType, (*pages).exposition),
		"/tokenize":            {"POST": (*Server).tokenize},
		"/detokenize":          {"POST": (*Server).detokenize},
	}
	sglangRoutes = routes{
		"/start_profile":       {"POST": (*Server).startProfile},
		"/stop_profile":        {"POST": (*Server).stopProfile},
		"/generate":            generating(generateSGLang),
		"/v1/completions":      generating(completionsSGLang),
		"/v1/chat/completions": generating(chatSGLang),
		"/v1/models":           get("application/json", (*pages).models),
		"/model_info":          get("application/json", (*pages).modelInfo),
		"/get_model_info":      get("application/json", (*pages).modelInfo),
		"/server_info":         get("application/json", (*pages).serverInfo),
		"/get_server_info":     get("application/json", (*pages).serverInfo),
		"/flush_cache":         {"GET": (*Server).flushCache, "POST": (*Server).flushCache},
		"/health":              get("", nothing),
		"/health_generate":     get("", nothing),
		"/ping":                get("", nothing),
		"/metrics":             get(metricsType, (*pages).sglangMetrics),
		"/api/tags":            get("application/json", (*pages).tags), // it has some of Ollama's routes
		"/tokenize":            {"POST": (*Server).tokenize},
		"/detokenize":          {"POST": (*Server).detokenize},
	}
	llamaRoutes = routes{
		"/completion":          generating(llamaCpp),
		"/v1/completions":      generating(completionsLlama),
		"/v1/chat/completions": generating(chatLlama),
		"/v1/models":           get("application/json", (*pages).models),
		"/props":               get("application/json", (*pages).props),
		"/health":              get("application/json", func(*pages) []byte { return []byte(`{"status":"ok"}`) }),
		"/metrics":             get(metricsType, (*pages).llamaMetrics),
	}
	ollamaRoutes = routes{
		"/api/generate":        generating(ollama),
		"/api/chat":            generating(ollamaChat),
		"/v1/completions":      generating(completionsOllama),
		"/v1/chat/completions": generating(chatOllama),
		"/v1/models":           get("application/json", (*pages).models),
		"/api/version":         get("application/json", (*pages).versionOnly),
		"/api/tags":            get("application/json", (*pages).tags),
		"/":                    get(plainText, func(*pages) []byte { return []byte("Ollama is running") }),
	}
)

// commonRoutes are the routes of every dialect.
var commonRoutes = routes{IdentityPath: get("application/json", (*pages).identity)}

const (
	metricsType = "text/plain; version=0.0.4; charset=utf-8"
	plainText   = "text/plain; charset=utf-8"
)

func nothing(*pages) []byte { return nil }

// get returns the methods of a route that answers GET with a text.
func get(contentType string, body func(*pages) []byte) map[string]handler {
	return map[string]handler{"GET": fixed(contentType, body)}
}

// fixed returns a handler that ignores the request.
func fixed(contentType string, body func(*pages) []byte) handler {
	return func(s *Server, c *conn, _ *http.Request, _ []byte, _ int64) after {
		var headers []string
		if contentType != "" {
			headers = []string{"content-type: " + contentType}
		}
		return c.reply(http.StatusOK, headers, body(&s.pages))
	}
}

// reply writes a whole answer.
func (c *conn) reply(status int, headers []string, body []byte) after {
	c.write(answer(status, headers, string(body), false))
	c.idleFrom(time.Now())
	return keepOpen
}

func (c *conn) fail(e *apiError) after { return c.reply(e.status, jsonType, c.srv.dialect.fail(e)) }

// route finds the handler of a request.
func (s *Server) route(c *conn, req *http.Request, body []byte, arrival int64) after {
	methods, ok := s.dialect.routes[req.URL.Path]
	if !ok {
		methods, ok = commonRoutes[req.URL.Path]
	}
	if strings.HasPrefix(req.URL.Path, "/v1") && s.cfg.APIKey != "" &&
		req.Header.Get("Authorization") != "Bearer "+s.cfg.APIKey {
		return c.reply(http.StatusUnauthorized, jsonType, []byte(unauthorizedBody))
	}
	if !ok {
		return c.detail(req, http.StatusNotFound)
	}
	h, ok := methods[req.Method]
	if !ok {
		allowed := "GET"
		if _, get := methods["GET"]; !get {
			allowed = "POST"
		}
		return c.detail(req, http.StatusMethodNotAllowed, "allow: "+allowed)
	}
	return h(s, c, req, body, arrival)
}

// detail is the framework's own error form, without a body for HEAD.
func (c *conn) detail(req *http.Request, status int, headers ...string) after {
	body := string(c.srv.dialect.notFound(status))
	c.write(answer(status, append(headers, jsonType...), body, req.Method == http.MethodHead))
	c.idleFrom(time.Now())
	return keepOpen
}

// readJSON checks the content type and decodes the body.
func readJSON(req *http.Request, body []byte, known fields) (*wireRequest, *apiError) {
	if t, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, &apiError{status: http.StatusBadRequest, kind: "Bad Request", param: "header.content-type",
			message: "The content type must be application/json."}
	}
	q, err := decodeRequest(body, known)
	if err != nil {
		return nil, malformed(err)
	}
	return q, nil
}

// checkModel rejects an unknown model where text is turned into tokens or back. SGLang ignores the name.
func (s *Server) checkModel(q *wireRequest) *apiError {
	if q.Model != nil && !s.serves(*q.Model) && !s.dialect.anyModel {
		return s.unknownModel(*q.Model)
	}
	return nil
}

func (s *Server) tokenize(c *conn, req *http.Request, body []byte, _ int64) after {
	q, e := readJSON(req, body, requestFields)
	if e != nil {
		return c.fail(e)
	}
	if e := s.checkModel(q); e != nil {
		return c.fail(e)
	}
	var ids []int32
	switch {
	case len(q.Messages) > 0:
		prompts, e := s.chatPrompt(q.Messages)
		if e != nil {
			return c.fail(e)
		}
		ids = prompts[0].ids
	case len(q.Prompts) == 1 && q.Prompts[0].IDs == nil:
		ids = s.library.promptIDs(q.Prompts[0].Text, s.library.rowOfText(q.Prompts[0].Text))
	default:
		return c.fail(malformed(&fieldError{"prompt", "one text is needed"}))
	}
	b := appendIDs(fmt.Appendf(nil, `{"count":%d,"max_model_len":%d,"tokens":`, len(ids), s.cfg.MaxModelLen), ids)
	b = append(b, `,"token_strs":`...)
	if isTrue(q.TokenStrs) {
		strs := make([]string, len(ids))
		for i, id := range ids {
			strs[i] = s.speller.piece(id)
		}
		list, err := json.Marshal(strs)
		if err != nil {
			return c.fail(badRequest("", "The token texts cannot be written as JSON."))
		}
		b = append(b, list...)
	} else {
		b = append(b, "null"...)
	}
	return c.reply(http.StatusOK, jsonType, append(b, '}'))
}

func (s *Server) detokenize(c *conn, req *http.Request, body []byte, _ int64) after {
	q, e := readJSON(req, body, requestFields)
	if e != nil {
		return c.fail(e)
	}
	if e := s.checkModel(q); e != nil {
		return c.fail(e)
	}
	if q.Tokens == nil {
		return c.fail(malformed(&fieldError{"tokens", "a list of token ids is needed"}))
	}
	b := appendEscaped([]byte(`{"prompt":"`), s.cfg.Tokenizer.Decode(q.Tokens))
	if s.dialect.plainText {
		tokens := q.Tokens
		if q.SkipSpecial == nil || *q.SkipSpecial {
			tokens = withoutSpecial(s.cfg.Tokenizer, tokens)
		}
		b = appendEscaped([]byte(`{"text":"`), s.cfg.Tokenizer.Decode(tokens))
	}
	return c.reply(http.StatusOK, jsonType, append(b, `"}`...))
}

// generate answers a completion: it checks the request, draws its faults, prepares the whole answer and passes it to
// the engine, which sends it when it is due.
func (s *Server) generate(c *conn, req *http.Request, body []byte, arrival int64, d *protocol) after {
	q, e := readJSON(req, body, d.fields)
	if e == nil && d.adopt != nil {
		e = d.adopt(q)
	}
	var r *request
	if e == nil {
		r, e = s.accept(q, d)
	}
	if e != nil {
		return c.reply(e.status, jsonType, d.fail(e))
	}
	if h := req.Header.Get("X-Request-Id"); h != "" && s.dialect.byHeader {
		r.id = h
	}
	s.profiler.note(r.prompts)
	ordinal := uint64(s.meters.requests.Add(1))
	if r.id == "" {
		r.id = fmt.Sprintf("%016x", mix(s.cfg.Seed^mix(ordinal)))
	}
	p := s.draw(ordinal)
	if p.instead != nil {
		return c.substitute(r, p.instead)
	}
	s.meters.inFlight.Add(1) // until the engine ends the reply
	rp := s.prepare(c, r, p, arrival)
	if rp.stream {
		c.write(append(appendHead(nil, http.StatusOK), d.head...))
	}
	_ = c.nc.SetReadDeadline(time.Time{}) // a dead connection shows in the next read
	s.engine.submit(rp)
	c.watch(rp)
	return rp.plan.tail.then
}

// substitute sends the answer of a fault instead of a completion.
func (c *conn) substitute(r *request, x *substitute) after {
	switch {
	case x.failure != nil:
		return c.reply(x.failure.status, x.headers, r.protocol.fail(x.failure))
	case x.status != 0:
		return c.reply(x.status, x.headers, []byte(x.body))
	case x.head && r.stream:
		c.write(append(appendHead(nil, http.StatusOK), r.protocol.head...))
	case x.head:
		c.write(append(appendHead(nil, http.StatusOK), "content-type: application/json\r\ncontent-length: 4096\r\n\r\n"...))
	}
	return x.then
}

var errServedTwice = errors.New("serving the simulator: Serve was called twice; make a new Server for each listener")
