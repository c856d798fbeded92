package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// kind is the effect of a fault on the samples of its request.
type kind int

const (
	harmless  kind = iota // the answer counts
	fails                 // the sample fails
	heals                 // the sample fails unless another attempt is allowed
	eitherWay             // the sample fails, or its answer counts and is genuine
	poisons               // the run is not VALID: the sample fails, or the verdict has its own reason
)

// fault is one error of a server or of a machine in front of it.
type fault struct {
	name    string
	kind    kind
	codes   []string             // failure codes that it explains
	reasons []string             // verdict codes that it explains beside failed_samples
	spills  bool                 // its bytes may reach the next request of the connection
	early   bool                 // it answers before the request is read
	can     func(*scenario) bool // nil: everywhere
	do      func(*call) bool     // false: not with this request
}

func has(sc *scenario) bool { return sc.Protocol.Ids && !sc.NoUsage }

func streamed(sc *scenario) bool { return sc.Stream }
func whole(sc *scenario) bool    { return !sc.Stream }
func framed(sc *scenario) bool   { return !sc.http2() } // there a gateway resets streams with bytes outside frames
func single(sc *scenario) bool   { return sc.Batch == 0 }
func batched(sc *scenario) bool  { return sc.Batch > 1 }

func both(list ...func(*scenario) bool) func(*scenario) bool {
	return func(sc *scenario) bool {
		for _, f := range list {
			if !f(sc) {
				return false
			}
		}
		return true
	}
}

var (
	timeouts = []string{"timeout_first_token", "timeout_between_tokens", "timeout_request"}
	gone     = []string{"reset", "connect", "no_endpoint", "truncated", "tls"}
	refusals = []string{"400 Bad Request", "401 Unauthorized", "403 Forbidden", "404 Not Found", "408 Request Timeout",
		"422 Unprocessable Entity", "500 Internal Server Error", "501 Not Implemented"}
	busy      = []string{"429 Too Many Requests", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"}
	redirects = []string{"301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"}
)

func codesOf(statuses []string) []string {
	list := make([]string, len(statuses))
	for i, s := range statuses {
		list[i] = "http_" + s[:3]
	}
	return list
}

// strayBytes are bytes outside any answer. They count if no ids identify the answers.
const strayBytes = "stray_bytes"

// faults are tried in this order; at most one affects a request.
var faults = []fault{
	{name: "slow", kind: harmless, do: func(c *call) bool {
		c.wait = time.Duration(50+c.dice(200)) * time.Millisecond
		return true
	}},

	// The connection.
	{name: "reset_before", kind: heals, codes: gone, do: func(c *call) bool { c.none(resetIt); return true }},
	{name: "close_before", kind: heals, codes: gone, do: func(c *call) bool { c.none(hangUp); return true }},
	{name: "silent_before", kind: fails, codes: timeouts, do: func(c *call) bool { c.none(stayMute); return true }},
	{name: "reset_middle", kind: heals, codes: []string{"reset", "truncated", "bad_json"},
		do: func(c *call) bool { return c.cutMiddle(resetIt) }},
	{name: "cut_middle", kind: fails, codes: []string{"truncated", "bad_json", "reset"},
		do: func(c *call) bool { return c.cutMiddle(hangUp) }},
	{name: "silent_middle", kind: fails, codes: timeouts, do: func(c *call) bool { return c.cutMiddle(stayMute) }},
	{name: "garbage", kind: fails, codes: []string{"bad_chunk", "reset", "truncated"}, can: framed,
		do: func(c *call) bool {
			c.instead, c.then = "\x16\x03\x01 this is no HTTP \xff\xfe\r\n\r\n", hangUp
			return true
		}},
	{name: "bad_chunk", kind: fails, codes: []string{"bad_chunk", "truncated", "reset"}, can: streamed,
		do: func(c *call) bool {
			c.framing = byChunks
			s := c.segments()
			if len(c.docs) < 2 || c.docs[0].last {
				return false
			}
			c.instead, c.then = s[0]+s[1]+"zz\r\nno chunk\r\n", hangUp
			return true
		}},
	{name: "length_short", kind: fails, spills: true,
		codes: []string{"bad_json", "bad_event", "truncated", "bad_chunk", "reset"}, reasons: []string{"unasked_answers"},
		can: whole, do: func(c *call) bool {
			c.framing, c.length = byLength, -(2 + c.dice(20))
			return true
		}},
	{name: "length_long", kind: fails, codes: []string{"truncated", "reset"}, can: whole, do: func(c *call) bool {
		c.framing, c.length, c.then = byLength, 1+c.dice(40), hangUp
		return true
	}},

	// Unrequested bytes and answers.
	{name: strayBytes, kind: poisons, spills: true, codes: []string{"wrong_answer", "bad_chunk", "reset", "truncated"},
		reasons: []string{"unasked_answers"}, do: func(c *call) bool {
			c.framed()
			c.behind = []string{"what is this?", "\r\n\r\nx", "HTTP/1.1 200 OK\r\n", "\x00"}[c.dice(4)]
			return true
		}},
	{name: "answer_twice", kind: poisons, spills: true, codes: []string{"wrong_answer"},
		reasons: []string{"unasked_answers"}, do: func(c *call) bool {
			c.framed()
			c.behind = strings.Join(c.segments(), "")
			return true
		}},
	{name: "answer_twice_later", kind: eitherWay, spills: true, codes: append([]string{"wrong_answer"}, gone...),
		reasons: []string{"unasked_answers"}, can: (*scenario).identified, do: func(c *call) bool {
			c.framed()
			c.again, c.then = time.Duration(1+c.dice(20))*time.Millisecond, keepOpen
			return true
		}},
	{name: "answer_of_another", kind: poisons, codes: []string{"wrong_answer", "token_count_mismatch"},
		reasons: []string{"token_mismatch"},
		can:     func(sc *scenario) bool { return sc.identified() || sc.counted() }, do: (*call).ofAnother},
	{name: "another_model", kind: poisons, codes: []string{"wrong_model"}, reasons: []string{"wrong_model"},
		can: func(sc *scenario) bool { return sc.Protocol.Named || sc.Protocol.wire.kind == "generate" && !sc.Stream },
		do:  func(c *call) bool { c.model = anotherModel; c.render(); return true }},

	{name: "answered_early", kind: fails, early: true, codes: []string{"unsent", "reset"},
		can: func(sc *scenario) bool { return sc.Big > 0 }, do: func(c *call) bool {
			c.framed()
			c.then = stayMute // it reads nothing more
			return true
		}},

	// The status.
	{name: "refused", kind: fails, codes: codesOf(refusals), do: func(c *call) bool { return c.refuse(refusals, "") }},
	{name: "busy", kind: heals, codes: codesOf(busy), do: func(c *call) bool { return c.refuse(busy, "") }},
	{name: "busy_retry_after", kind: heals, codes: codesOf(busy),
		do: func(c *call) bool { return c.refuse(busy, "Retry-After: 1\r\n") }},
	{name: "redirected", kind: fails, codes: codesOf(redirects),
		do: func(c *call) bool { return c.refuse(redirects, "Location: "+c.s.sc.Protocol.Path+"\r\n") }},
	{name: "html", kind: fails, codes: []string{"bad_json"}, do: func(c *call) bool {
		c.reply("200 OK", "text/html", "", "<html><body>Please sign in.</body></html>")
		return true
	}},
	{name: "gzip", kind: fails, codes: []string{"bad_json"}, do: func(c *call) bool {
		c.reply("200 OK", "application/json", "Content-Encoding: gzip\r\n", "\x1f\x8b\x08\x00\x00")
		return true
	}},
	{name: "empty_body", kind: fails, codes: []string{"empty"}, reasons: []string{"empty_outputs"},
		do: func(c *call) bool {
			c.reply("200 OK", "application/json", "", "")
			return true
		}},

	// The form of the answer.
	{name: "whole_for_stream", kind: eitherWay, codes: []string{"no_first_token", "bad_event", "batch_mismatch"},
		can: streamed, do: func(c *call) bool {
			c.q.stream, c.framing = false, byLength
			c.render()
			return true
		}},
	{name: "stream_for_whole", kind: eitherWay, codes: []string{"bad_json", "bad_event", "token_count_mismatch"},
		can: whole, do: func(c *call) bool {
			c.q.stream, c.q.usage, c.framing, c.text = true, true, byChunks, ""
			c.render()
			return true
		}},
	{name: "bad_json", kind: fails, codes: []string{"bad_json", "truncated"}, do: func(c *call) bool {
		if !c.q.stream {
			c.text = c.text[:len(c.text)/2]
			return true
		}
		d := &c.docs[c.dice(len(c.docs))]
		d.text = d.text[:len(d.text)/2]
		return true
	}},
	{name: "error_event", kind: fails, codes: []string{"server_error_event", "bad_event"}, do: (*call).errorEvent},
	{name: "no_end", kind: fails, codes: []string{"truncated", "bad_event"}, do: func(c *call) bool {
		return c.eachPart(func(p *part) bool {
			n := max(1, len(p.ids)/2)
			p.ids, p.texts, p.said, p.finish = p.ids[:n], p.texts[:n], n, ""
			return true
		})
	}},
	{name: "abort", kind: fails, codes: []string{"aborted"}, do: func(c *call) bool {
		return c.onePart(func(p *part) bool {
			p.finish = []string{"abort", "error", "cancelled", "content_filter"}[c.dice(4)]
			return true
		})
	}},
	{name: "abort_then_stop", kind: fails, codes: []string{"aborted"},
		can: func(sc *scenario) bool { return sc.Stream && sc.Protocol.openAI() }, do: func(c *call) bool {
			p := &c.parts[c.dice(len(c.parts))]
			aborted := doc{text: c.envelope(c.choice(p, 0, 0, "abort"), c.noUsage())}
			c.docs = slices.Insert(c.docs, c.firstEnd(), aborted)
			return true
		}},
	{name: "unasked_choice", kind: fails, codes: []string{"bad_event", "batch_mismatch"},
		can: both(single, func(sc *scenario) bool { return sc.Protocol.openAI() }), do: func(c *call) bool {
			extra := c.parts[0]
			extra.index = 1
			if !c.q.stream {
				c.parts = append(c.parts, extra)
				c.render()
				return true
			}
			c.docs = slices.Insert(c.docs, 0, doc{text: c.envelope(c.choice(&extra, 0, 1, ""), c.noUsage())})
			return true
		}},
	{name: "mixed_modes", kind: eitherWay, codes: []string{"token_count_mismatch", "bad_event"},
		can: func(sc *scenario) bool { return sc.Stream && sc.Protocol.wire.kind == "sglang" }, do: func(c *call) bool {
			c.switchAt = 2 + c.dice(3)
			c.render()
			return true
		}},

	// Tokens and counts.
	{name: "empty", kind: fails, codes: []string{"empty", "too_short", "batch_mismatch"},
		reasons: []string{"empty_outputs"}, do: func(c *call) bool {
			return c.onePart(func(p *part) bool {
				p.ids, p.texts, p.said, p.finish = nil, nil, 0, "stop"
				return true
			})
		}},
	{name: "too_long", kind: fails, codes: []string{"too_large"},
		can: func(sc *scenario) bool { return !sc.NoUsage || sc.Protocol.Ids }, do: func(c *call) bool {
			return c.onePart(func(p *part) bool {
				for len(p.ids) < c.q.limit+3 {
					p.ids, p.texts = append(p.ids, answerID), append(p.texts, " more")
				}
				p.said, p.finish = len(p.ids), "length"
				return true
			})
		}},
	{name: "ended_for_length", kind: fails, codes: []string{"too_short"},
		can: func(sc *scenario) bool { return !sc.NoUsage || sc.Protocol.Ids }, do: func(c *call) bool {
			return c.onePart(func(p *part) bool {
				if len(p.ids) >= c.q.limit {
					return false
				}
				p.finish = "length"
				return true
			})
		}},
	{name: "count_high", kind: fails, codes: []string{"token_count_mismatch", "bad_event", "too_large"},
		reasons: []string{"token_mismatch"}, can: both(has, notHeldBack), do: func(c *call) bool {
			return c.onePart(func(p *part) bool { p.said += 1 + c.dice(3); return true })
		}},
	{name: "count_low", kind: fails, codes: []string{"token_count_mismatch", "bad_event"},
		reasons: []string{"token_mismatch"}, can: has, do: func(c *call) bool {
			return c.onePart(func(p *part) bool { p.said--; return p.said > 0 })
		}},
	{name: "count_negative", kind: fails, codes: []string{"token_count_mismatch", "bad_event", "empty"},
		reasons: []string{"token_mismatch"}, can: func(sc *scenario) bool { return !sc.NoUsage }, do: func(c *call) bool {
			return c.onePart(func(p *part) bool { p.said = -4; return true })
		}},
	{name: "prompt_count", kind: poisons, codes: []string{"token_count_mismatch"}, reasons: []string{"token_mismatch"},
		can: func(sc *scenario) bool { return sc.Protocol.Counts && !sc.NoUsage }, do: func(c *call) bool {
			c.promptOff = -1
			c.render()
			return true
		}},
	{name: "string_ids", kind: fails, codes: []string{"bad_event", "bad_json"},
		can: func(sc *scenario) bool { return sc.Protocol.Ids }, do: func(c *call) bool {
			c.stringIDs = true
			c.render()
			return c.q.ids || c.s.sc.Protocol.wire.kind == "sglang" || c.s.sc.Protocol.wire.kind == llamaKind
		}},
	{name: "foreign_id", kind: fails, codes: []string{"bad_event"},
		can: func(sc *scenario) bool { return sc.Protocol.Ids && sc.Protocol.Model == idsModel }, do: func(c *call) bool {
			return c.onePart(func(p *part) bool { p.ids[c.dice(len(p.ids))] = 200000; return true })
		}},
	{name: "negative_id", kind: fails, codes: []string{"bad_event"},
		can: func(sc *scenario) bool { return sc.Protocol.Ids }, do: func(c *call) bool {
			return c.onePart(func(p *part) bool { p.ids[c.dice(len(p.ids))] = -5; return true })
		}},
	// A part of a batch has no count of its own, so it may look as if it ended for length below its limit.
	{name: "lost_event", kind: fails, codes: []string{"token_count_mismatch", "bad_event", "too_short"},
		reasons: []string{"token_mismatch"}, can: both(streamed, has, notHeldBack, stepwise), do: func(c *call) bool {
			i, ok := c.tokenDoc()
			if ok {
				c.docs = slices.Delete(c.docs, i, i+1)
			}
			return ok
		}},
	{name: "repeated_event", kind: fails, codes: []string{"token_count_mismatch", "bad_event", "too_large"},
		reasons: []string{"token_mismatch"},
		can:     both(streamed, has, func(sc *scenario) bool { return sc.Protocol.wire.kind != "sglang" }),
		do: func(c *call) bool {
			i, ok := c.tokenDoc()
			if ok {
				c.docs = slices.Insert(c.docs, i, c.docs[i])
			}
			return ok
		}},
	{name: "repeated_sglang_event", kind: eitherWay, codes: []string{"token_count_mismatch", "bad_event", "too_large"},
		reasons: []string{"token_mismatch"},
		can:     func(sc *scenario) bool { return sc.Stream && sc.Protocol.wire.kind == "sglang" }, do: func(c *call) bool {
			i, ok := c.tokenDoc()
			if ok {
				c.docs = slices.Insert(c.docs, i, c.docs[i])
			}
			return ok
		}},
	{name: "lost_id", kind: fails, codes: []string{"token_count_mismatch", "bad_event"},
		reasons: []string{"token_mismatch"}, can: both(whole, has, notHeldBack), do: func(c *call) bool {
			return c.onePart(func(p *part) bool {
				if len(p.ids) < 2 {
					return false
				}
				p.ids, p.texts = slices.Delete(p.ids, 1, 2), slices.Delete(p.texts, 1, 2)
				return true
			})
		}},
	{name: "tokens_behind_end", kind: fails, codes: []string{"token_count_mismatch", "bad_event"},
		reasons: []string{"token_mismatch"},
		can:     func(sc *scenario) bool { return sc.Stream && sc.Protocol.openAI() && has(sc) }, do: func(c *call) bool {
			p := &c.parts[c.dice(len(c.parts))]
			c.docs = slices.Insert(c.docs, c.lastEnd()+1, doc{text: c.envelope(c.choice(p, 0, 1, ""), c.noUsage())})
			return true
		}},

	// Batches.
	{name: "part_missing", kind: fails, codes: []string{"batch_mismatch", "token_count_mismatch", "bad_event"},
		can: batched, do: func(c *call) bool {
			if len(c.parts) < 2 {
				return false
			}
			c.parts = c.parts[:len(c.parts)-1]
			c.render()
			return true
		}},
	{name: "part_twice", kind: fails, codes: []string{"batch_mismatch", "token_count_mismatch", "bad_event"},
		can: func(sc *scenario) bool { return batched(sc) && sc.Protocol.openAI() }, do: func(c *call) bool {
			n := len(c.parts)
			c.parts[n-1].index = 0
			c.render()
			return n > 1
		}},
	{name: "part_beyond", kind: fails, codes: []string{"batch_mismatch", "token_count_mismatch", "bad_event"},
		can: func(sc *scenario) bool { return batched(sc) && sc.Protocol.openAI() }, do: func(c *call) bool {
			c.parts[len(c.parts)-1].index += 3
			c.render()
			return true
		}},
	{name: "parts_swapped", kind: poisons, codes: []string{"wrong_answer", "batch_mismatch"},
		can: func(sc *scenario) bool {
			return batched(sc) && sc.identified() && sc.Protocol.wire.kind == "sglang"
		}, do: func(c *call) bool {
			if len(c.parts) < 2 {
				return false
			}
			c.parts[0], c.parts[1] = c.parts[1], c.parts[0]
			c.parts[0].index, c.parts[1].index = 0, 1
			c.render()
			return true
		}},
}

// notHeldBack excludes llama.cpp's answers that are read as text: fewer ids than the count are normal there.
func notHeldBack(sc *scenario) bool {
	return sc.Protocol.wire.kind != llamaKind || sc.Protocol.Model != textModel
}

// stepwise excludes SGLang's cumulative streams.
func stepwise(sc *scenario) bool { return sc.Protocol.wire.kind != "sglang" || !sc.Cumulative }

// dice draws one of n for the request, the same at every repetition.
func (c *call) dice(n int) int {
	c.drawn++
	return int(mix(c.s.sc.Seed, 41, uint64(c.drawn), uint64(c.q.rows[0]), uint64(c.e.Attempt)) % uint64(n))
}

// strike applies the first fault that the dice select.
func (c *call) strike() {
	if !c.armed && !c.s.sc.Early {
		return
	}
	for i := range c.s.sc.Faults {
		s := &c.s.sc.Faults[i]
		if s.fault.early != (c.unread > 0) {
			continue
		}
		if unit(mix(c.s.sc.Seed, 42, uint64(i), uint64(c.q.rows[0]), uint64(c.e.Attempt))) < s.Rate && s.fault.do(c) {
			c.e.Fault = s.Name
			return
		}
	}
}

// none sends nothing.
func (c *call) none(then after) {
	c.docs, c.text, c.instead, c.nothing, c.then = nil, "", "", true, then
}

// framed makes the end of the answer visible.
func (c *call) framed() {
	if c.framing == byClose {
		c.framing, c.then = byLength, keepOpen
	}
}

// cutMiddle ends the answer before its finish reason.
func (c *call) cutMiddle(then after) bool {
	s := c.segments()
	limit := 0 // bytes up to the document that ends the answer
	if c.q.stream {
		for i := 0; i <= c.firstEnd() && i < len(s)-1; i++ {
			limit += len(s[i])
		}
	} else {
		limit = len(strings.Join(s, "")) - 2
	}
	head := len(s[0])
	if limit <= head {
		return false
	}
	c.cut, c.then = head+c.dice(limit-head), then
	return true
}

// firstEnd and lastEnd are the documents with a finish reason.
func (c *call) firstEnd() int {
	if i := slices.IndexFunc(c.docs, func(d doc) bool { return d.last }); i >= 0 {
		return i
	}
	return len(c.docs)
}

func (c *call) lastEnd() int {
	for i := len(c.docs) - 1; i >= 0; i-- {
		if c.docs[i].last {
			return i
		}
	}
	return len(c.docs) - 1
}

// tokenDoc is a document with tokens that does not end its answer.
func (c *call) tokenDoc() (int, bool) {
	var list []int
	for i, d := range c.docs {
		if d.tokens > 0 && !d.last {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return 0, false
	}
	return list[c.dice(len(list))], true
}

// onePart changes the answer to one prompt, eachPart all of them.
func (c *call) onePart(change func(*part) bool) bool {
	if !change(&c.parts[c.dice(len(c.parts))]) {
		return false
	}
	c.render()
	return true
}

func (c *call) eachPart(change func(*part) bool) bool {
	for i := range c.parts {
		if !change(&c.parts[i]) {
			return false
		}
	}
	c.render()
	return true
}

// ofAnother replaces the answer by that to another request, with that request's id.
func (c *call) ofAnother() bool {
	sc := c.s.sc
	var parts []part
	apart := 0
	for i, row := range c.q.rows {
		p := sc.genuine((row+1)%sc.Rows, c.q.limit)
		p.index, p.id = i, fmt.Sprintf("%016x", mix(sc.Seed, 43, uint64(c.e.N), uint64(i)))
		parts = append(parts, p)
		apart += len(promptIDs(p.row)) - len(promptIDs(row))
	}
	if sc.Rows < 2 || !sc.identified() && apart == 0 {
		return false
	}
	c.parts = parts
	c.id = sc.Protocol.wire.prefix + parts[0].id
	c.render()
	return true
}

// errorEvent reports an error inside the answer, and ends or continues it.
func (c *call) errorEvent() bool {
	w := &c.s.sc.Protocol.wire
	if !c.q.stream {
		c.text = w.fail
		return true
	}
	at := c.dice(c.firstEnd() + 1)
	bad := doc{text: w.fail}
	way := c.dice(4)
	if w.lines || w.kind == llamaKind {
		way %= 2
	}
	switch way {
	case 0: // and then the end
		c.docs = append(c.docs[:min(at, len(c.docs))], bad)
		return true
	case 2:
		bad = doc{text: `{"message":"the engine has died"}`, event: "error"}
	case 3:
		bad = doc{text: `{"detail":"the engine has died"}`}
	}
	c.docs = slices.Insert(c.docs, at, bad)
	return true
}

// refuse answers with one of these statuses.
func (c *call) refuse(statuses []string, fields string) bool {
	c.reply(statuses[c.dice(len(statuses))], "application/json", fields,
		`{"error":{"message":"refused on purpose","type":"Error","code":1}}`)
	return true
}

// reply is a whole response.
func (c *call) reply(status, contentType, fields, body string) {
	c.instead = fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s", status, contentType,
		len(body), fields, body)
	c.then = keepOpen
}
