package sim

import (
	"fmt"
	"net/http"
)

// encoder writes the answers of one kind of server. Its event and tail are called by the engine thread: they may not
// allocate per token.
type encoder interface {
	// event appends the event for tokens [from, to) of q.
	event(dst []byte, q *sequence, from, to int) []byte
	// tail appends the end of a stream, after the last token.
	tail(dst []byte, r *reply) []byte
	// body returns the JSON of a reply without a stream.
	body(r *reply) []byte
}

// protocol describes the requests and answers of a route of one kind of server.
type protocol struct {
	chat   bool // messages instead of a prompt
	fields fields
	// translates the route's field names into those of OpenAI's routes; nil: no difference
	adopt     func(q *wireRequest) *apiError
	anyModel  bool   // accept any model name
	unlimited bool   // an answer without a limit extends to the end of the context
	head      string // headers of a stream
	fail      func(*apiError) []byte
	encoder   func(s *Server, r *request, p *plan, created int64) encoder
}

var (
	completions = &protocol{fields: requestFields, head: streamHeaders, fail: (*apiError).body, encoder: newOpenAI}
	chat        = &protocol{chat: true, unlimited: true, fields: requestFields, head: streamHeaders,
		fail:    (*apiError).body,
		encoder: newOpenAI}
	embeddings = &protocol{fields: embeddingFields, adopt: adoptEmbedding, fail: (*apiError).body,
		encoder: newEmbedding}
	messages = &protocol{chat: true, unlimited: true, fields: messagesFields, adopt: adoptMessages, head: streamHeaders,
		fail: messagesError, encoder: newMessages}
	responses = &protocol{chat: true, unlimited: true, fields: responsesFields, adopt: adoptResponses,
		head: streamHeaders, fail: (*apiError).body, encoder: newResponses}
	rerank         = &protocol{fields: rerankFields, adopt: adoptRerank, fail: (*apiError).body, encoder: newRerank}
	generateSGLang = &protocol{anyModel: true, fields: sglangFields, adopt: adoptSGLang, head: streamHeaders,
		fail: generateError, encoder: newGenerate}
	completionsSGLang = &protocol{anyModel: true, fields: sglangOpenFields, head: streamHeaders, fail: flatError,
		encoder: newShaped(&sglangShape)}
	chatSGLang = &protocol{chat: true, unlimited: true, anyModel: true, fields: sglangOpenFields, head: streamHeaders,
		fail: flatError, encoder: newShaped(&sglangShape)}
	completionsLlama = &protocol{anyModel: true, unlimited: true, fields: requestFields, adopt: adoptLlama,
		head: llamaHeaders, fail: llamaError, encoder: newShaped(&llamaShape)}
	chatLlama = &protocol{chat: true, anyModel: true, unlimited: true, fields: requestFields, adopt: adoptLlama,
		head: llamaHeaders, fail: llamaError, encoder: newShaped(&llamaShape)}
	completionsOllama = &protocol{unlimited: true, fields: requestFields, adopt: textOnly, head: streamHeaders,
		fail: ollamaOpenError, encoder: newShaped(&ollamaShape)}
	chatOllama = &protocol{chat: true, unlimited: true, fields: requestFields, head: streamHeaders, fail: ollamaOpenError,
		encoder: newShaped(&ollamaShape)}
	llamaCpp = &protocol{anyModel: true, unlimited: true, fields: llamaFields, adopt: adoptLlama, head: llamaHeaders,
		fail: llamaError, encoder: newLlama}
	ollama = &protocol{unlimited: true, fields: ollamaFields, adopt: adoptOllama, head: lineHeaders, fail: ollamaError,
		encoder: newOllama}
	ollamaChat = &protocol{chat: true, unlimited: true, fields: ollamaFields, adopt: adoptOllama, head: lineHeaders,
		fail: ollamaError, encoder: newOllama}
)

// generating returns the handler of a route that generates text.
func generating(d *protocol) map[string]handler {
	return map[string]handler{"POST": func(s *Server, c *conn, req *http.Request, b []byte, at int64) after {
		return s.generate(c, req, b, at, d)
	}}
}

// limitOf converts a token limit of llama.cpp or Ollama; a negative one means no limit.
func limitOf(n *int) *int {
	if n != nil && *n < 0 {
		return nil
	}
	return n
}

// emptyCache implements vLLM's route to reset the prefix cache, as in development mode. It fails if requests are
// running, which would hold their blocks.
func (p *pages) emptyCache() []byte {
	isIdle := p.meters.inFlight.Load() == 0
	if isIdle {
		p.prefixes.empty()
	}
	return fmt.Appendf(nil, `{"success":%t}`, isIdle)
}
