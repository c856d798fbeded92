package sim

// Hot path: appends one line per token to the engine's buffer and allocates nothing.

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const lineHeaders = "content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"

// ollamaFields lists the supported fields of Ollama's native routes.
var ollamaFields = fields{
	"model":    func(q *wireRequest) any { return &q.Model },
	"messages": func(q *wireRequest) any { return &q.Messages },
	"stream":   func(q *wireRequest) any { return &q.Stream },
	"options":  func(q *wireRequest) any { return &q.Options },
}

// adoptOllama reads the limit from the options; a negative one means no limit. It streams unless stream is false, and
// it accepts only text.
func adoptOllama(q *wireRequest) *apiError {
	if e := textOnly(q); e != nil {
		return e
	}
	if q.Options != nil {
		q.MaxTokens = limitOf(q.Options.NumPredict)
	}
	if q.Stream == nil {
		yes := true
		q.Stream = &yes
	}
	return nil
}

// textOnly rejects prompts that are not one text.
func textOnly(q *wireRequest) *apiError {
	for _, p := range q.Prompts {
		if p.IDs != nil || len(q.Prompts) > 1 {
			return badRequest("prompt", "json: cannot unmarshal array into Go struct field CompletionRequest.prompt of type "+
				"string")
		}
	}
	return nil
}

// ollamaOpenError is the form of an error of Ollama's OpenAI routes.
func ollamaOpenError(e *apiError) []byte {
	kind := "api_error"
	if e.status == http.StatusBadRequest {
		kind = "invalid_request_error"
	}
	b := appendEscaped([]byte(`{"error":{"message":"`), e.message)
	return append(b, `","type":"`+kind+`","param":null,"code":null}}`...)
}

// ollamaError is the form of an error of Ollama's native routes.
func ollamaError(e *apiError) []byte {
	return append(appendEscaped([]byte(`{"error":"`), e.message), `"}`...)
}

// ollamaEncoder writes the native routes of Ollama.
type ollamaEncoder struct {
	usageError  int
	garble      func([]byte) []byte
	begin, open []byte // {"model":...,"created_at":..., then the key of the text and the bytes before the text
	close       string // the bytes after the text
	first, each time.Duration
}

func newOllama(s *Server, r *request, p *plan, created int64) encoder {
	e := &ollamaEncoder{usageError: p.usageError, garble: p.garble, first: s.cfg.TTFT, each: s.cfg.TPOT, close: `"`}
	e.begin = append(appendEscaped([]byte(`{"model":"`), s.cfg.Model), `","created_at":"`...)
	e.begin = append(time.Unix(created, 0).UTC().AppendFormat(e.begin, time.RFC3339Nano), `",`...)
	e.open = []byte(`"response":"`)
	if r.protocol.chat {
		e.open, e.close = []byte(`"message":{"role":"assistant","content":"`), `"}`
	}
	return e
}

func (e *ollamaEncoder) event(dst []byte, q *sequence, from, to int) []byte {
	dst, mark := openChunk(dst)
	body := len(dst)
	dst = append(e.appendText(dst, q, from, to), `,"done":false}`...)
	if q.garbleAt == to && e.garble != nil {
		dst = append(dst[:body], e.garble(dst[body:])...)
	}
	dst = closeChunk(append(dst, '\n'), mark)
	if to < len(q.tokens) || q.finish == "" {
		return dst
	}
	dst, mark = openChunk(dst)
	return closeChunk(append(e.appendEnd(dst, q, to, to), '\n'), mark)
}

func (e *ollamaEncoder) appendText(dst []byte, q *sequence, from, to int) []byte {
	dst = append(append(dst, e.begin...), e.open...)
	if from < to {
		dst = append(dst, q.spelling.between(from, to)...)
	}
	return append(dst, e.close...)
}

// appendEnd appends the final document of an answer, with the text of tokens [from, to). Its times come from the
// schedule.
func (e *ollamaEncoder) appendEnd(dst []byte, q *sequence, from, to int) []byte {
	dst = e.appendText(dst, q, from, to)
	if q.finish == "" {
		return append(dst, `,"done":false}`...)
	}
	n := int64(len(q.tokens))
	dst = append(append(append(dst, `,"done":true,"done_reason":"`...), q.finish...), `","total_duration":`...)
	dst = strconv.AppendInt(dst, int64(e.first)+n*int64(e.each), 10)
	dst = append(dst, `,"load_duration":0,"prompt_eval_count":`...)
	dst = strconv.AppendInt(dst, int64(len(q.prompt)), 10)
	dst = append(dst, `,"prompt_eval_duration":`...)
	dst = strconv.AppendInt(dst, int64(e.first), 10)
	dst = append(dst, `,"eval_count":`...)
	dst = strconv.AppendInt(dst, n+int64(e.usageError), 10)
	dst = append(dst, `,"eval_duration":`...)
	return append(strconv.AppendInt(dst, n*int64(e.each), 10), '}')
}

// tail appends nothing: the line with "done" ends a stream.
func (e *ollamaEncoder) tail(dst []byte, r *reply) []byte {
	t := &r.plan.tail
	var mark int
	if r.plan.noChoices && t.usage {
		dst, mark = openChunk(dst)
		dst = closeChunk(append(e.appendEnd(dst, r.seqs[0], 0, 0), '\n'), mark)
	}
	if t.failure {
		dst, mark = openChunk(dst)
		dst = closeChunk(append(append(dst, ollamaError(engineFailure)...), '\n'), mark)
	}
	return t.endChunks(dst)
}

func (e *ollamaEncoder) body(r *reply) []byte {
	q := r.seqs[0]
	to := len(q.tokens)
	if r.plan.noChoices {
		to = 0
	}
	b := e.appendEnd(nil, q, 0, to)
	if e.garble != nil {
		b = e.garble(b)
	}
	return b
}

// tags lists the one model as Ollama does.
func (p *pages) tags() []byte {
	name := appendEscaped(nil, p.cfg.Model)
	return fmt.Appendf(nil, `{"models":[{"name":"%s","model":"%s","modified_at":"2026-01-01T00:00:00Z","size":0,`+
		`"digest":"","details":{"family":"llama"}}]}`, name, name)
}
