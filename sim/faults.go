package sim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Faults maps the name of a fault to the share of completion requests that it affects, 0 to 1.
type Faults map[string]float64

// Fault describes one fault for help texts.
type Fault struct{ Name, Effect string }

// FaultNames lists every fault in the order in which they apply.
func FaultNames() []Fault {
	out := make([]Fault, len(faultTable))
	for i, f := range faultTable {
		out[i] = Fault{f.name, f.effect}
	}
	return out
}

// ParseFaults reads NAME=RATE[,NAME=RATE...]; an empty string means no faults.
func ParseFaults(s string) (Faults, error) {
	out := Faults{}
	if strings.TrimSpace(s) == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		name, rate, ok := strings.Cut(strings.TrimSpace(part), "=")
		v, err := strconv.ParseFloat(rate, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("reading the faults %q: %q is not NAME=RATE; write for example http_500=0.05,no_done=0.01", s,
				part)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("reading the faults %q: %q occurs twice; name it once", s, name)
		}
		out[name] = v
	}
	return out, out.check()
}

// UnknownFault is the error about a fault that the simulator does not have.
type UnknownFault string

func (f UnknownFault) Error() string {
	names := make([]string, len(faultTable))
	for i, t := range faultTable {
		names[i] = t.name
	}
	return fmt.Sprintf("unknown fault %q; use %s", string(f), strings.Join(names, ", "))
}

func (f Faults) check() error {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if !slices.ContainsFunc(faultTable, func(t faultRow) bool { return t.name == name }) {
			return UnknownFault(name)
		}
		if v := f[name]; math.IsNaN(v) || v < 0 || v > 1 {
			return fmt.Errorf("fault %s has rate %v; it must lie between 0 and 1", name, v)
		}
	}
	return nil
}

// plan is the effect of the faults on one answer. The zero plan with wholeTail is a good answer.
type plan struct {
	instead    *substitute // sent instead of everything; the engine does not see the request
	slowdown   int64       // factor of TTFT; 0: none
	hideIDs    bool
	hideUsage  bool
	usageError int    // added to usage.completion_tokens
	finish     string // instead of the true finish_reason
	half       bool   // the answer ends in its middle, without finish_reason unless finish is set
	empty      bool   // no token at all
	noChoices  bool   // nothing but usage
	strayID    bool   // an id outside the vocabulary in the middle
	twoEnds    bool   // the end token occurs twice
	garble     func(payload []byte) []byte
	tail       tail
}

// tail describes the end of a stream after the last token.
type tail struct {
	usage      bool // the usage event, if requested
	failure    bool // an error event
	done       bool // data: [DONE]
	terminator bool // the chunk of length 0
	then       after
}

// after is what the server does with the connection after an answer.
type after int

const (
	keepOpen after = iota
	hangUp         // orderly close
	reset          // RST
	silence        // stays open, sends nothing
	die            // the server dies
)

var wholeTail = tail{usage: true, done: true, terminator: true}

// substitute is an answer that replaces a completion.
type substitute struct {
	failure *apiError // in the server's own form; nil: the fields below
	status  int       // 0: no status line at all
	headers []string
	body    string
	head    bool // the head of the true answer is sent
	then    after
}

type faultRow struct {
	name, effect string
	apply        func(s *Server, p *plan)
}

// faultTable lists every fault. Each has its own draw, so several may affect one request; they apply in this order.
var faultTable = []faultRow{
	{"http_500", "status 500", failWith(500, "InternalServerError", "The engine failed while it generated.")},
	{"http_503", "status 503", failWith(503, "Service Unavailable", "The queue is full.")},
	{"http_429", "status 429 with Retry-After: 1",
		failWith(429, "TooManyRequestsError", "Too many requests.", "retry-after: 1")},
	{"http_400", "status 400", failWith(400, "BadRequestError", "The request was refused on purpose.")},
	{"http_401", "status 401", replaceBy(substitute{status: 401, headers: jsonType, body: unauthorizedBody})},
	{"http_404", "status 404", func(s *Server, p *plan) {
		p.instead = &substitute{failure: s.unknownModel("another-model"), headers: jsonType}
	}},
	{"html", "status 200 with an HTML page", replaceBy(substitute{status: 200,
		headers: []string{"content-type: text/html; charset=utf-8"},
		body: "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><p>Please sign in to the " +
			"gateway.</p></body></html>\n"})},
	{"redirect", "status 302 to another path", replaceBy(substitute{status: 302,
		headers: []string{"location: /elsewhere", "content-type: text/plain; charset=utf-8"}, body: "moved\n"})},
	{"reset_before", "RST before the first byte", replaceBy(substitute{then: reset})},
	{"reset_mid", "RST in the middle of the answer", endInTheMiddle(tail{then: reset})},
	{"cut_mid", "connection closed in the middle of the answer, without the closing chunk",
		endInTheMiddle(tail{then: hangUp})},
	{"no_end", "stream ends in the middle without finish_reason and [DONE], its framing intact",
		endInTheMiddle(tail{terminator: true})},
	{"no_done", "finish_reason, but no [DONE]", func(_ *Server, p *plan) { p.tail.done = false }},
	{"stall_header", "never an answer", replaceBy(substitute{then: silence})},
	{"stall_first", "headers, then silence", replaceBy(substitute{head: true, then: silence})},
	{"stall_mid", "silence in the middle of the answer", endInTheMiddle(tail{then: silence})},
	{"error_event", "an error event in the middle of the stream, then [DONE]; status 500 without a stream",
		endInTheMiddle(tail{failure: true, done: true, terminator: true})},
	{"empty", "an answer without tokens", func(_ *Server, p *plan) { p.empty = true }},
	{"only_usage", "usage and no choice", func(_ *Server, p *plan) { p.noChoices = true }},
	{"bad_json", "one event cut in its middle", func(_ *Server, p *plan) { p.garble = cutInHalf }},
	{"bad_utf8", "bytes that are not UTF-8 in a text",
		func(_ *Server, p *plan) { p.garble = intoText("\xff\xc3\x28\xed\xa0\x80") }},
	{"huge_line", "one event of 8 MiB", func(_ *Server, p *plan) { p.garble = intoText(strings.Repeat("la ", 8<<20/3)) }},
	{"no_ids", "return_token_ids is ignored", func(_ *Server, p *plan) { p.hideIDs = true }},
	{"no_usage", "no usage in the OpenAI routes' answers", func(_ *Server, p *plan) { p.hideUsage = true }},
	{"wrong_count", "usage counts three tokens more than were sent", func(_ *Server, p *plan) { p.usageError = 3 }},
	{"abort", "finish_reason abort in the middle of the answer",
		func(_ *Server, p *plan) { p.half, p.finish = true, "abort" }},
	{"out_of_vocab", "one token id outside the vocabulary", func(_ *Server, p *plan) { p.strayID = true }},
	{"slow_first", "ten times the time to first token", func(_ *Server, p *plan) { p.slowdown = 10 }},
	{"die", "the server dies in the middle of the answer", endInTheMiddle(tail{then: die})},
	{"two_ends", "the end token twice instead of the answer's last token, which TEST06 detects",
		func(_ *Server, p *plan) { p.twoEnds = true }},
}

const unauthorizedBody = `{"error":"Unauthorized"}`

var jsonType = []string{"content-type: application/json"}

func failWith(status int, kind, message string, headers ...string) func(*Server, *plan) {
	return replaceBy(substitute{failure: &apiError{status: status, kind: kind, message: message},
		headers: append(headers, jsonType...)})
}

func replaceBy(x substitute) func(*Server, *plan) { return func(_ *Server, p *plan) { p.instead = &x } }

func endInTheMiddle(t tail) func(*Server, *plan) {
	return func(_ *Server, p *plan) { p.half, p.tail = true, t }
}

func cutInHalf(payload []byte) []byte { return payload[:len(payload)/2] }

// intoText puts s at the beginning of the payload's first text.
func intoText(s string) func([]byte) []byte {
	return func(payload []byte) []byte {
		for _, key := range []string{`"text":"`, `"content":"`, `"response":"`} {
			if i := strings.Index(string(payload), key); i >= 0 {
				return slices.Insert(slices.Clone(payload), i+len(key), []byte(s)...)
			}
		}
		return payload
	}
}

// draw returns the plan of the request with this ordinal.
func (s *Server) draw(ordinal uint64) plan {
	p := plan{tail: wholeTail}
	for i, row := range faultTable {
		rate := s.cfg.Faults[row.name]
		if rate <= 0 {
			continue
		}
		u := float64(mix(mix(s.cfg.Seed+uint64(i)<<32)^ordinal)>>11) / (1 << 53)
		if u < rate {
			row.apply(s, &p)
		}
	}
	return p
}
