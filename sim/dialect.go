package sim

import (
	"fmt"
	"net/http"
)

// encoder writes the answers of one kind of server. Its event and tail are called by the engine thread: they may not
// allocate per token.
type encoder interface {
	// event appends what tells of tokens [from, to) of q.
	event(dst []byte, q *sequence, from, to int) []byte
	// tail appends what follows the last token of a stream.
	tail(dst []byte, r *reply) []byte
	// body gives the JSON of a reply that is not streamed.
	body(r *reply) []byte
}

// dialect is what a route of a kind of server reads and answers.
type dialect struct {
	chat   bool // messages instead of a prompt
	fields map[string]func(*wireRequest) any
	// puts what the route calls otherwise into the fields of OpenAI's routes; nil: nothing
	adopt     func(q *wireRequest) *apiError
	anyModel  bool   // no name of a model is checked
	unlimited bool   // an answer without a limit goes to the end of the context
	head      string // headers of a stream
	fail      func(*apiError) []byte
	encoder   func(s *Server, r *request, p *plan, created int64) encoder
}

var (
	completions = &dialect{fields: requestFields, head: streamHeaders, fail: (*apiError).body, encoder: newOpenAI}
	chat        = &dialect{chat: true, unlimited: true, fields: requestFields, head: streamHeaders, fail: (*apiError).body,
		encoder: newOpenAI}
	llamaCpp = &dialect{anyModel: true, unlimited: true, fields: llamaFields, adopt: adoptLlama, head: streamHeaders,
		fail: llamaError, encoder: newLlama}
	ollama = &dialect{unlimited: true, fields: ollamaFields, adopt: adoptOllama, head: lineHeaders, fail: ollamaError,
		encoder: newOllama}
	ollamaChat = &dialect{chat: true, unlimited: true, fields: ollamaFields, adopt: adoptOllama, head: lineHeaders,
		fail: ollamaError, encoder: newOllama}
)

// generating is the handler of a route that generates.
func generating(d *dialect) map[string]handler {
	return map[string]handler{"POST": func(s *Server, c *conn, req *http.Request, b []byte, at int64) after {
		return s.generate(c, req, b, at, d)
	}}
}

// limitOf is a limit of tokens as llama.cpp and Ollama write it: a negative one is none.
func limitOf(n *int) *int {
	if n != nil && *n < 0 {
		return nil
	}
	return n
}

// emptyCache is vLLM's route to forget prompts, as a server in development mode has it. There is no cache here: it is
// empty unless requests are running, which would hold on to theirs.
func (s *Server) emptyCache() []byte {
	return fmt.Appendf(nil, `{"success":%t}`, s.meters.inFlight.Load() == 0)
}
