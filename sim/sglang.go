package sim

// Hot path: appends one event per token to the engine's buffer and allocates nothing.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// sglangFields lists the supported fields of SGLang's native route.
var sglangFields = fields{
	"sampling_params":  func(q *wireRequest) any { return &q.SamplingParams },
	"stream":           func(q *wireRequest) any { return &q.Stream },
	"rid":              func(q *wireRequest) any { return &q.RequestIDs },
	"return_token_ids": func(q *wireRequest) any { return &q.ReturnTokenIDs },
}

// sglangOpenFields are the fields of SGLang's OpenAI routes: those of vLLM, and the id of the request.
var sglangOpenFields = func() fields {
	f := fields{"rid": func(q *wireRequest) any { return &q.RequestIDs }}
	for name, of := range requestFields {
		if name != "request_id" && name != "stream_interval" {
			f[name] = of
		}
	}
	return f
}()

// sglangParams are the sampling parameters of the native route, which rejects all others
// (docs/reference/wire-protocols.md#sglang-generate-route).
type sglangParams struct {
	MaxNewTokens *int    `json:"max_new_tokens"`
	MinNewTokens *int    `json:"min_new_tokens"`
	IgnoreEOS    *bool   `json:"ignore_eos"`
	StopTokenIDs []int32 `json:"stop_token_ids"`
	N            *int    `json:"n"`
}

// sglangIgnored are the sampling parameters that the simulator accepts without an effect.
var sglangIgnored = []string{
	"temperature", "frequency_penalty", "presence_penalty", "repetition_penalty", "stop", "stop_regex", "top_p", "top_k",
	"min_p", "skip_special_tokens", "spaces_between_special_tokens", "no_stop_trim", "json_schema", "regex", "ebnf",
	"structural_tag", "logit_bias", "stream_interval", "custom_params", "sampling_seed",
}

// sglangMaxNew is the limit of an answer that names none.
const sglangMaxNew = 128

// adoptSGLang reads the sampling parameters. A null limit means the rest of the context.
func adoptSGLang(q *wireRequest) *apiError {
	limit := sglangMaxNew
	q.MaxTokens = &limit
	if len(q.SamplingParams) == 0 || string(q.SamplingParams) == "null" {
		return nil
	}
	var p sglangParams
	p.MaxNewTokens = &limit
	var given map[string]json.RawMessage
	if err := json.Unmarshal(q.SamplingParams, &given); err != nil {
		return badRequest("", "sampling_params: an object is needed (%v)", err)
	}
	for _, name := range sglangIgnored {
		delete(given, name)
	}
	rest, err := json.Marshal(given)
	if err != nil {
		return badRequest("", "sampling_params: %v", err)
	}
	strict := json.NewDecoder(bytes.NewReader(rest))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&p); err != nil {
		return badRequest("", "sampling_params: %v", err)
	}
	q.MaxTokens, q.MinTokens, q.IgnoreEOS = p.MaxNewTokens, p.MinNewTokens, p.IgnoreEOS
	q.StopTokenIDs, q.N = p.StopTokenIDs, p.N
	return nil
}

// flatError is the form of SGLang's errors on OpenAI's routes, and of its refusals.
func flatError(e *apiError) []byte {
	kind := e.kind
	if kind == "" {
		kind = "BadRequest"
	}
	b := appendEscaped([]byte(`{"object":"error","message":"`), e.message)
	return fmt.Appendf(append(appendEscaped(append(b, `","type":"`...), kind), `","param":null`...), `,"code":%d}`,
		e.status)
}

// generateError is the form of an error of the native route: nested for a bad request, flat otherwise.
func generateError(e *apiError) []byte {
	if e.status != http.StatusBadRequest {
		return flatError(e)
	}
	return append(appendEscaped([]byte(`{"error":{"message":"`), e.message), `"}}`...)
}

// generateEncoder writes SGLang's native route. Its events repeat everything so far unless the server was started with
// --incremental-streaming-output.
type generateEncoder struct {
	incremental bool
	ids, counts bool
	batch       bool
	usageError  int
	garble      func([]byte) []byte
	rid         []byte // escaped
	rids        [][]byte
	latency     func(tokens int) float64 // of a whole answer in seconds, by its schedule
}

func newGenerate(s *Server, r *request, p *plan, _ int64) encoder {
	e := &generateEncoder{incremental: s.cfg.Incremental, ids: !p.hideIDs, counts: !p.hideUsage, batch: r.list,
		usageError: p.usageError, garble: p.garble, rid: appendEscaped(nil, r.id)}
	for _, id := range r.ids {
		e.rids = append(e.rids, appendEscaped(nil, id))
	}
	first, each := s.cfg.TTFT.Seconds(), s.cfg.TPOT.Seconds()
	e.latency = func(tokens int) float64 { return first + float64(max(tokens-1, 0))*each }
	return e
}

func (e *generateEncoder) event(dst []byte, q *sequence, from, to int) []byte {
	dst, mark := openEvent(dst)
	body := len(dst)
	if !e.incremental {
		from = 0
	}
	dst = e.document(dst, q, from, to)
	if q.garbleAt == to && e.garble != nil {
		dst = append(dst[:body], e.garble(dst[body:])...)
	}
	return closeEvent(dst, mark)
}

// document appends the tokens [from, to) of an answer of which to tokens are sent.
func (e *generateEncoder) document(dst []byte, q *sequence, from, to int) []byte {
	dst = append(dst, `{"text":"`...)
	if from < to {
		dst = append(dst, q.spelling.between(from, to)...)
	}
	dst = append(dst, '"')
	if e.ids {
		dst = appendIDs(append(dst, `,"output_ids":`...), q.tokens[from:to])
	}
	dst = append(dst, `,"meta_info":{"id":"`...)
	switch {
	case q.index < len(e.rids):
		dst = append(dst, e.rids[q.index]...)
	case e.batch:
		dst = strconv.AppendInt(append(append(dst, e.rid...), '_'), int64(q.index), 10)
	default:
		dst = append(dst, e.rid...)
	}
	dst = append(dst, `","finish_reason":`...)
	ended := to == len(q.tokens) && q.finish != ""
	dst = e.finish(dst, q, ended)
	dst = append(dst, `,"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(len(q.prompt)), 10)
	dst = append(dst, `,"weight_version":"default","num_retractions":0,"reasoning_tokens":0`...)
	if e.counts {
		dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), int64(to+e.usageError), 10)
	}
	dst = strconv.AppendInt(append(dst, `,"cached_tokens":`...), int64(max(q.cached, 0)), 10)
	dst = append(dst, `,"dp_rank":null`...)
	if ended {
		dst = strconv.AppendFloat(append(dst, `,"e2e_latency":`...), e.latency(to), 'f', -1, 64)
	}
	dst = append(dst, '}')
	if e.batch {
		dst = strconv.AppendInt(append(dst, `,"index":`...), int64(q.index), 10)
	}
	return append(dst, '}')
}

func (e *generateEncoder) finish(dst []byte, q *sequence, ended bool) []byte {
	switch {
	case !ended:
		return append(dst, "null"...)
	case q.finish == "length":
		dst = strconv.AppendInt(append(dst, `{"type":"length","length":`...), int64(len(q.tokens)), 10)
	case q.finish == finishStop && len(q.tokens) > 0:
		dst = strconv.AppendInt(append(dst, `{"type":"stop","matched":`...), int64(q.tokens[len(q.tokens)-1]), 10)
	case q.finish == "abort":
		dst = append(dst, `{"type":"abort","message":"Aborted","status_code":null,"err_type":null`...)
	default:
		dst = append(append(append(dst, `{"type":"`...), q.finish...), '"')
	}
	return append(dst, '}')
}

func (e *generateEncoder) tail(dst []byte, r *reply) []byte {
	t := &r.plan.tail
	var mark int
	if r.plan.noChoices && t.usage {
		dst, mark = openEvent(dst)
		dst = strconv.AppendInt(append(dst, `{"meta_info":{"completion_tokens":`...), int64(len(r.seqs[0].tokens)), 10)
		dst = closeEvent(append(dst, `}}`...), mark)
	}
	if t.failure {
		dst, mark = openEvent(dst)
		dst = append(appendEscaped(append(dst, `{"error":{"message":"`...), engineFailure.message), `","type":"`...)
		dst = closeEvent(append(dst, `InternalServerError","code":500,"retryable":false}}`...), mark)
	}
	return t.end(dst)
}

// body returns one document, or a list of them for several prompts.
func (e *generateEncoder) body(r *reply) []byte { return documents(r, e.batch, e.garble, e.document) }

// documents returns the body of a native route: one document, or a list of them.
func documents(r *reply, list bool, garble func([]byte) []byte,
	document func(dst []byte, q *sequence, from, to int) []byte) []byte {
	var b []byte
	for i, q := range r.seqs {
		if i > 0 {
			b = append(b, ',')
		}
		to := len(q.tokens)
		if r.plan.noChoices {
			to = 0
		}
		b = document(b, q, 0, to)
	}
	if list {
		b = append(append([]byte{'['}, b...), ']')
	}
	if garble != nil {
		b = garble(b)
	}
	return b
}

// modelInfo is the answer of /model_info.
func (p *pages) modelInfo() []byte {
	name := appendEscaped(nil, p.cfg.Model)
	return fmt.Appendf(nil, `{"model_path":"%s","served_model_name":"%s","tokenizer_path":"%s","is_generation":true,`+
		`"preferred_sampling_params":null,"weight_version":"default","has_image_understanding":false,`+
		`"has_audio_understanding":false,"model_type":"llama","architectures":["LlamaForCausalLM"]}`, name, name, name)
}

// serverInfo is the answer of /server_info: the arguments that clients read.
func (p *pages) serverInfo() []byte {
	name := appendEscaped(nil, p.cfg.Model)
	return fmt.Appendf(nil, `{"model_path":"%s","served_model_name":"%s","context_length":%d,"max_running_requests":%d,`+
		`"stream_interval":%d,"incremental_streaming_output":%t,"internal_states":[],"version":"%s"}`, name, name,
		p.cfg.MaxModelLen, p.cfg.MaxNumSeqs, p.cfg.TokensPerEvent, p.cfg.Incremental, p.dialect.version)
}

// flushCache is SGLang's route to empty the prefix cache, which it refuses while requests run.
func (s *Server) flushCache(c *conn, _ *http.Request, _ []byte, _ int64) after {
	if s.meters.inFlight.Load() > 0 {
		return c.reply(http.StatusBadRequest, []string{"content-type: " + plainText}, []byte("Flush cache failed.\n"))
	}
	s.prefixes.empty()
	return c.reply(http.StatusOK, []string{"content-type: " + plainText}, []byte("Cache flushed.\n"))
}
