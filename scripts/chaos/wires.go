package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// part is the answer to one prompt.
type part struct {
	row    int
	index  int // in its batch
	ids    []int32
	texts  []string
	finish string // stop, length, abort, ...; empty: none
	id     string // id of the request, if each part has its own
	said   int    // number of tokens that the server reports
}

// text is the whole text.
func (p *part) text() string { return strings.Join(p.texts, "") }

// doc is one document of a stream.
type doc struct {
	text   string
	tokens int    // number of tokens in it
	last   bool   // whether it contains the answer's finish reason
	event  string // name of the event; empty: none
}

// wire writes the answers of one route.
type wire struct {
	kind   string
	stream func(c *call) []doc
	whole  func(c *call) string
	done   string // end of a stream; empty: none
	lines  bool   // whether a stream has one JSON document to a line instead of events
	fail   string // a document that reports an error
	prefix string // prefix of answer ids if the id is that of the request's header
	rid    bool   // whether ids are in the body's rid
}

// llamaKind is llama.cpp's native route.
const llamaKind = "completion"

const (
	nestedError = `{"error":{"message":"EngineCore died","type":"InternalServerError","param":null,"code":500}}`
	plainError  = `{"error":"the runner has died"}`
)

var (
	completions = wire{kind: "completions", stream: openAIStream, whole: openAIWhole, done: "[DONE]", fail: nestedError,
		prefix: "cmpl-"}
	chat = wire{kind: "chat", stream: openAIStream, whole: openAIWhole, done: "[DONE]", fail: nestedError,
		prefix: "chatcmpl-"}
	generate = wire{kind: "generate", stream: openAIStream, whole: openAIWhole, done: "[DONE]", fail: nestedError,
		prefix: "generate-tokens-"}
	sglang = wire{kind: "sglang", stream: sglangStream, whole: sglangWhole, done: "[DONE]",
		fail: `{"error":{"message":"the scheduler has died"}}`, rid: true}
	llama = wire{kind: llamaKind, stream: llamaStream, whole: llamaWhole,
		fail: `{"error":{"code":500,"message":"decoding failed","type":"server_error"}}`}

	ollamaGenerate = wire{kind: "ollama", stream: ollamaStream, whole: ollamaWhole, fail: plainError, lines: true}
	ollamaChat     = wire{kind: "ollama-chat", stream: ollamaStream, whole: ollamaWhole, fail: plainError, lines: true}
)

func quoted(s string) string {
	b, _ := json.Marshal(s) // encoding a string cannot fail
	return string(b)
}

func idList(ids []int32) string {
	return strings.ReplaceAll(fmt.Sprint(ids), " ", ",")
}

// finished is a finish reason as JSON.
func finished(s string) string {
	if s == "" {
		return "null"
	}
	return quoted(s)
}

// groups cuts n tokens into the events of a stream.
func (c *call) groups(n int) [][2]int {
	var list [][2]int
	for from := 0; from < n; {
		to := min(n, from+1+int(mix(c.s.sc.Seed, 21, uint64(n), uint64(from))%uint64(c.s.sc.Group)))
		list = append(list, [2]int{from, to})
		from = to
	}
	return list
}

// interleave mixes the documents of several parts, like a server that works on all of them.
func interleave(lists [][]doc) []doc {
	var all []doc
	for i := 0; ; i++ {
		more := false
		for _, l := range lists {
			if i < len(l) {
				all, more = append(all, l[i]), true
			}
		}
		if !more {
			return all
		}
	}
}

func (c *call) said() (n int) {
	for i := range c.parts {
		n += c.parts[i].said
	}
	return n
}

// promptOf is the number of prompt tokens that the server counts.
func (c *call) promptOf(p *part) int { return len(promptIDs(p.row)) + c.promptOff }

func (c *call) prompt() (n int) {
	for i := range c.parts {
		n += c.promptOf(&c.parts[i])
	}
	return n
}

func (c *call) usage() string {
	n, prompt := c.said(), c.prompt()
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, prompt, n, prompt+n)
}

// envelope is a document of OpenAI's routes around its choices.
func (c *call) envelope(choices, usage string) string {
	object, w := "text_completion", c.s.sc.Protocol.wire.kind
	switch {
	case w == "generate" && c.q.stream:
		return fmt.Sprintf(`{"request_id":%s,"usage":%s,"choices":[%s]}`, quoted(c.id), usage, choices)
	case w == "generate":
		return fmt.Sprintf(`{"request_id":%s,"model":%s,"usage":%s,"choices":[%s]}`, quoted(c.id), quoted(c.model), usage,
			choices)
	case w == "chat" && c.q.stream:
		object = "chat.completion.chunk"
	case w == "chat":
		object = "chat.completion"
	}
	text := fmt.Sprintf(`{"id":%s,"object":%q,"created":1700000000,"model":%s,"choices":[%s]`, quoted(c.id), object,
		quoted(c.model), choices)
	if usage != "" {
		text += `,"usage":` + usage
	}
	return text + "}"
}

// choice is the tokens from, to of a part.
func (c *call) choice(p *part, from, to int, finish string) string {
	text, ids := strings.Join(p.texts[from:to], ""), ""
	if c.q.ids {
		ids = `,"token_ids":` + c.idList(p.ids[from:to])
	}
	content := `"text":` + quoted(text)
	switch w := c.s.sc.Protocol.wire.kind; {
	case w == "generate":
		return fmt.Sprintf(`{"index":%d,"token_ids":%s,"finish_reason":%s}`, p.index, c.idList(p.ids[from:to]),
			finished(finish))
	case w == "chat" && c.q.stream:
		content = `"delta":{"content":` + quoted(text) + `}`
	case w == "chat":
		content = `"message":{"role":"assistant","content":` + quoted(text) + `}`
	}
	return fmt.Sprintf(`{"index":%d,%s,"logprobs":null,"finish_reason":%s%s}`, p.index, content, finished(finish), ids)
}

// idList writes ids, as strings if the fault requires it.
func (c *call) idList(ids []int32) string {
	if !c.stringIDs {
		return idList(ids)
	}
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = fmt.Sprintf("%q", fmt.Sprint(id))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func (c *call) noUsage() string {
	if c.s.sc.Protocol.wire.kind == "generate" || c.s.sc.Protocol.Backend == "sglang" {
		return "null"
	}
	return ""
}

func openAIStream(c *call) []doc {
	var lists [][]doc
	for i := range c.parts {
		p := &c.parts[i]
		var list []doc
		if c.s.sc.Protocol.wire.kind == "chat" {
			role := fmt.Sprintf(`{"index":%d,"delta":{"role":"assistant","content":""},"finish_reason":null}`, p.index)
			list = append(list, doc{text: c.envelope(role, c.noUsage())})
		}
		groups := c.groups(len(p.ids))
		for j, g := range groups {
			finish := ""
			if j == len(groups)-1 && !c.s.sc.LateFinish {
				finish = p.finish
			}
			list = append(list, doc{text: c.envelope(c.choice(p, g[0], g[1], finish), c.noUsage()), tokens: g[1] - g[0],
				last: finish != ""})
		}
		if p.finish != "" && (c.s.sc.LateFinish || len(groups) == 0) {
			n := len(p.ids)
			list = append(list, doc{text: c.envelope(c.choice(p, n, n, p.finish), c.noUsage()), last: true})
		}
		lists = append(lists, list)
	}
	all := interleave(lists)
	if c.q.usage && !c.s.sc.NoUsage {
		all = append(all, doc{text: c.envelope("", c.usage())})
	}
	return all
}

func openAIWhole(c *call) string {
	var choices []string
	for i := range c.parts {
		p := &c.parts[i]
		choices = append(choices, c.choice(p, 0, len(p.ids), p.finish))
	}
	if c.s.sc.NoUsage {
		return c.envelope(strings.Join(choices, ","), c.noUsage())
	}
	return c.envelope(strings.Join(choices, ","), c.usage())
}

// sglangAnswer is a document of SGLang's own route with the tokens from, to of a part.
func (c *call) sglangAnswer(p *part, from, to, said int, finish string) string {
	end := "null"
	switch finish {
	case "":
	case "length":
		end = fmt.Sprintf(`{"type":"length","length":%d}`, len(p.ids))
	case "stop":
		end = `{"type":"stop","matched":2}`
	default:
		end = fmt.Sprintf(`{"type":%q,"message":"stopped by the scheduler"}`, finish)
	}
	index := ""
	if len(c.parts) > 1 && c.q.stream {
		index = fmt.Sprintf(`,"index":%d`, p.index)
	}
	count := fmt.Sprintf(`,"completion_tokens":%d`, said)
	if c.s.sc.NoUsage {
		count = ""
	}
	return fmt.Sprintf(`{"text":%s,"output_ids":%s,"meta_info":{"id":%s,"finish_reason":%s,"prompt_tokens":%d%s,`+
		`"cached_tokens":0}%s}`,
		quoted(strings.Join(p.texts[from:to], "")), c.idList(p.ids[from:to]), quoted(p.id), end, c.promptOf(p), count, index)
}

func sglangStream(c *call) []doc {
	var lists [][]doc
	for i := range c.parts {
		p := &c.parts[i]
		groups := c.groups(len(p.ids))
		if len(groups) == 0 {
			groups = [][2]int{{0, 0}}
		}
		var list []doc
		for j, g := range groups {
			from, finish := g[0], ""
			if c.s.sc.Cumulative != (c.switchAt == j+1) {
				from = 0
			}
			said := g[1]
			if j == len(groups)-1 {
				finish, said = p.finish, p.said
			}
			list = append(list, doc{text: c.sglangAnswer(p, from, g[1], said, finish), tokens: g[1] - g[0], last: finish != ""})
		}
		lists = append(lists, list)
	}
	return interleave(lists)
}

func sglangWhole(c *call) string {
	var list []string
	for i := range c.parts {
		p := &c.parts[i]
		list = append(list, c.sglangAnswer(p, 0, len(p.ids), p.said, p.finish))
	}
	if c.q.batch {
		return "[" + strings.Join(list, ",") + "]"
	}
	return list[0]
}

// llamaEnd is the document that ends an answer of llama.cpp.
func (c *call) llamaEnd(p *part, from int) string {
	kind := map[string]string{"stop": "eos", "length": "limit", "": "none"}[p.finish]
	if kind == "" {
		kind = p.finish
	}
	return fmt.Sprintf(`{"index":%d,"content":%s,"tokens":%s,"id_slot":0,"stop":%t,"model":%s,"tokens_predicted":%d,`+
		`"tokens_evaluated":%d,"truncated":false,"stop_type":%q,"stopping_word":"","timings":{"cache_n":0,"prompt_n":%d,`+
		`"predicted_n":%d}}`,
		p.index, quoted(strings.Join(p.texts[from:], "")), c.idList(p.ids[from:]), p.finish != "", quoted(c.model), p.said,
		c.prompt(), kind, c.prompt(), p.said)
}

func llamaStream(c *call) []doc {
	p := &c.parts[0]
	var list []doc
	for _, g := range c.groups(len(p.ids)) {
		list = append(list, doc{text: fmt.Sprintf(`{"index":0,"content":%s,"tokens":%s,"stop":false,"id_slot":-1,`+
			`"tokens_predicted":%d,"tokens_evaluated":%d}`,
			quoted(strings.Join(p.texts[g[0]:g[1]], "")), c.idList(p.ids[g[0]:g[1]]), g[1], c.prompt()), tokens: g[1] - g[0]})
	}
	if p.finish != "" {
		list = append(list, doc{text: c.llamaEnd(p, len(p.ids)), last: true})
	}
	return list
}

func llamaWhole(c *call) string { return c.llamaEnd(&c.parts[0], 0) }

// ollamaAnswer is a document of Ollama's native routes with the tokens from, to.
func (c *call) ollamaAnswer(p *part, from, to int, end bool) string {
	text := quoted(strings.Join(p.texts[from:to], ""))
	content := `"response":` + text
	if c.s.sc.Protocol.wire.kind == "ollama-chat" {
		content = `"message":{"role":"assistant","content":` + text + `}`
	}
	rest := `,"done":false}`
	if end {
		rest = fmt.Sprintf(`,"done":true,"done_reason":%s,"total_duration":5000000,"load_duration":0,`+
			`"prompt_eval_count":%d,"prompt_eval_duration":1000,"eval_count":%d,"eval_duration":1000}`,
			quoted(p.finish), c.prompt(), p.said)
	}
	return fmt.Sprintf(`{"model":%s,"created_at":"2026-01-01T00:00:00Z",%s%s`, quoted(c.model), content, rest)
}

func ollamaStream(c *call) []doc {
	p := &c.parts[0]
	var list []doc
	for _, g := range c.groups(len(p.ids)) {
		list = append(list, doc{text: c.ollamaAnswer(p, g[0], g[1], false), tokens: g[1] - g[0]})
	}
	if p.finish != "" {
		list = append(list, doc{text: c.ollamaAnswer(p, len(p.ids), len(p.ids), true), last: true})
	}
	return list
}

func ollamaWhole(c *call) string {
	p := &c.parts[0]
	return c.ollamaAnswer(p, 0, len(p.ids), p.finish != "")
}

// query is the content of a request.
type query struct {
	rows   []int
	batch  bool
	stream bool
	ids    bool
	usage  bool
	limit  int
	rids   []string // of the body
	header string   // X-Request-Id
}

// body holds the relevant members of a request on any route.
type body struct {
	Prompt     json.RawMessage `json:"prompt"`
	InputIDs   json.RawMessage `json:"input_ids"`
	Text       json.RawMessage `json:"text"`
	TokenIDs   json.RawMessage `json:"token_ids"`
	RID        json.RawMessage `json:"rid"`
	Stream     *bool           `json:"stream"`
	ReturnIDs  bool            `json:"return_token_ids"`
	Detokenize *bool           `json:"detokenize"`
	MaxTokens  int             `json:"max_tokens"`
	MaxChat    int             `json:"max_completion_tokens"`
	NPredict   int             `json:"n_predict"`
	Options    struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Sampling struct {
		MaxTokens int `json:"max_tokens"`
		MaxNew    int `json:"max_new_tokens"`
	} `json:"sampling_params"`
	Ollama struct {
		NumPredict int `json:"num_predict"`
	} `json:"options"`
	Messages []struct {
		Content string `json:"content"`
	} `json:"messages"`
}

// readQuery reads a request. A row of -1 is a prompt that is not in the data set.
func readQuery(text []byte, w *wire, header string) (*query, error) {
	var b body
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, err
	}
	q := &query{header: header, usage: b.Options.IncludeUsage, ids: b.ReturnIDs || b.Detokenize != nil && !*b.Detokenize ||
		w.kind == "generate"}
	q.stream = w.lines && b.Stream == nil || b.Stream != nil && *b.Stream
	q.limit = max(b.MaxTokens, b.MaxChat, b.NPredict, b.Sampling.MaxTokens, b.Sampling.MaxNew, b.Ollama.NumPredict)
	for _, m := range b.Messages {
		q.rows = append(q.rows, rowOfText(m.Content))
	}
	for _, raw := range []json.RawMessage{b.Prompt, b.InputIDs, b.Text, b.TokenIDs} {
		rows, batch, err := readPrompts(raw)
		if err != nil {
			return nil, err
		}
		q.rows, q.batch = append(q.rows, rows...), q.batch || batch
	}
	if len(q.rows) == 0 {
		return nil, fmt.Errorf("a request without a prompt: %.200s", text)
	}
	var one string
	switch {
	case json.Unmarshal(b.RID, &one) != nil:
		_ = json.Unmarshal(b.RID, &q.rids) // a list, or no ids
	case q.batch: // the one id is the beginning of the parts' ids
		for i := range q.rows {
			q.rids = append(q.rids, fmt.Sprintf("%s_%d", one, i))
		}
	case one != "":
		q.rids = []string{one}
	}
	return q, nil
}

// readPrompts reads a text, a list of ids, or a list of either.
func readPrompts(raw json.RawMessage) (rows []int, batch bool, err error) {
	var text string
	var texts []string
	var ids []int32
	var lists [][]int32
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case json.Unmarshal(raw, &text) == nil:
		rows = []int{rowOfText(text)}
	case json.Unmarshal(raw, &ids) == nil:
		rows = []int{rowOfIDs(ids)}
	case json.Unmarshal(raw, &texts) == nil:
		for _, t := range texts {
			rows, batch = append(rows, rowOfText(t)), true
		}
	case json.Unmarshal(raw, &lists) == nil:
		for _, l := range lists {
			rows, batch = append(rows, rowOfIDs(l)), true
		}
	default:
		err = fmt.Errorf("a prompt of another kind: %.200s", raw)
	}
	return slices.Clip(rows), batch, err
}
