package sim

// Hot path: appends one event per token to the engine's buffer and allocates nothing.

import (
	"fmt"
	"strconv"
)

const llamaHeaders = "x-accel-buffering: no\r\ncontent-type: text/event-stream\r\nkeep-alive: timeout=5, max=100\r\n" +
	"transfer-encoding: chunked\r\n\r\n"

// llamaFields lists the supported fields of llama.cpp's native route.
var llamaFields = fields{
	"n_predict":     func(q *wireRequest) any { return &q.MaxTokens },
	"ignore_eos":    func(q *wireRequest) any { return &q.IgnoreEOS },
	"stream":        func(q *wireRequest) any { return &q.Stream },
	"return_tokens": func(q *wireRequest) any { return &q.ReturnTokenIDs },
}

// adoptLlama treats -1 as no limit and generates one token if 0 are requested, as llama.cpp does
// (docs/reference/wire-protocols.md#differences-between-servers).
func adoptLlama(q *wireRequest) *apiError {
	if q.MaxTokens = limitOf(q.MaxTokens); q.MaxTokens != nil && *q.MaxTokens == 0 {
		one := 1
		q.MaxTokens = &one
	}
	return nil
}

// llamaError is llama.cpp's form of an error.
func llamaError(e *apiError) []byte {
	b := fmt.Appendf(nil, `{"error":{"code":%d,"message":"`, e.status)
	return append(appendEscaped(b, e.message), `","type":"invalid_request_error"}}`...)
}

// llamaEncoder writes the native route of llama.cpp.
type llamaEncoder struct {
	ids        bool
	usageError int
	garble     func([]byte) []byte
	model      []byte // escaped
}

func newLlama(s *Server, r *request, p *plan, _ int64) encoder {
	return &llamaEncoder{ids: r.returnIDs && !p.hideIDs, usageError: p.usageError, garble: p.garble,
		model: appendEscaped(nil, s.cfg.Model)}
}

func (e *llamaEncoder) event(dst []byte, q *sequence, from, to int) []byte {
	dst, mark := openEvent(dst)
	body := len(dst)
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(q.index), 10)
	dst = e.appendText(dst, q, from, to)
	dst = append(dst, `,"stop":false,"id_slot":-1,"tokens_predicted":`...)
	dst = strconv.AppendInt(dst, int64(to), 10)
	dst = append(dst, `,"tokens_evaluated":`...)
	dst = append(strconv.AppendInt(dst, int64(len(q.prompt)), 10), '}')
	if q.garbleAt == to && e.garble != nil {
		dst = append(dst[:body], e.garble(dst[body:])...)
	}
	dst = closeEvent(dst, mark)
	if to < len(q.tokens) || q.finish == "" {
		return dst
	}
	dst, mark = openEvent(dst)
	return closeEvent(e.appendEnd(dst, q, to, to), mark)
}

func (e *llamaEncoder) appendText(dst []byte, q *sequence, from, to int) []byte {
	dst = append(dst, `,"content":"`...)
	if from < to {
		dst = append(dst, q.spelling.between(from, to)...)
	}
	dst = append(dst, `","tokens":`...)
	if !e.ids {
		return append(dst, '[', ']')
	}
	return appendIDs(dst, q.tokens[from:to])
}

// appendEnd appends the final document of an answer, with tokens [from, to).
func (e *llamaEncoder) appendEnd(dst []byte, q *sequence, from, to int) []byte {
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(q.index), 10)
	dst = e.appendText(dst, q, from, to)
	dst = append(append(append(dst, `,"id_slot":0,"stop":true,"model":"`...), e.model...), `","tokens_predicted":`...)
	dst = strconv.AppendInt(dst, int64(len(q.tokens)+e.usageError), 10)
	dst = append(dst, `,"tokens_evaluated":`...)
	dst = strconv.AppendInt(dst, int64(len(q.prompt)), 10)
	dst = append(dst, `,"has_new_line":false,"truncated":false,"stop_type":"`...)
	dst = append(dst, stopTypeOf(q.finish)...)
	dst = append(dst, `","stopping_word":"","tokens_cached":`...)
	dst = strconv.AppendInt(dst, int64(q.kv()), 10)
	dst = append(dst, `,"timings":{"cache_n":0,"prompt_n":`...)
	dst = strconv.AppendInt(dst, int64(len(q.prompt)), 10)
	dst = append(dst, `,"predicted_n":`...)
	return append(strconv.AppendInt(dst, int64(len(q.tokens)), 10), `}}`...)
}

// stopTypeOf returns llama.cpp's name of a finish reason.
func stopTypeOf(finish string) string {
	switch finish {
	case "stop":
		return "eos"
	case "length":
		return "limit"
	case "":
		return "none"
	}
	return finish
}

// tail ends a stream: there is no [DONE].
func (e *llamaEncoder) tail(dst []byte, r *reply) []byte {
	t := &r.plan.tail
	var mark int
	if r.plan.noChoices && t.usage {
		dst, mark = openEvent(dst)
		dst = closeEvent(e.appendEnd(dst, r.seqs[0], 0, 0), mark)
	}
	if t.failure {
		dst, mark = openEvent(dst)
		dst = closeEvent(append(dst, llamaError(engineFailure)...), mark)
	}
	return t.endChunks(dst)
}

// body returns one document, or a list of them for several prompts.
func (e *llamaEncoder) body(r *reply) []byte {
	return documents(r, len(r.seqs) > 1, e.garble, e.appendEnd)
}

// props returns llama.cpp's properties of the server.
func (p *pages) props() []byte {
	b := fmt.Appendf(nil, `{"default_generation_settings":{"n_ctx":%d},"total_slots":%d,"model_path":"`, p.cfg.MaxModelLen,
		p.cfg.MaxNumSeqs)
	return append(appendEscaped(b, p.cfg.Model), `","build_info":"`+p.dialect.version+`"}`...)
}
