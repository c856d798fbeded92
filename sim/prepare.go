package sim

import "net/http"

// prepare makes the whole answer to a request except its times.
func (s *Server) prepare(c *conn, r *request, p plan, arrival int64) *reply {
	rp := &reply{conn: c, fail: r.protocol.fail, plan: p, stream: r.stream, group: r.interval, arrival: arrival,
		closes: r.stream && s.dialect.closes, done: make(chan struct{}), id: r.id}
	rp.enc = r.protocol.encoder(s, r, &p, s.engine.pace.wall(arrival)/1e9)
	if r.protocol.chat {
		rp.reasoning = s.cfg.ReasoningTokens
	}
	for i := range r.prompts {
		rp.seqs = append(rp.seqs, s.sequence(rp, i, r.prompts[i], r.limits[i]))
		rp.seqs[i].calls = r.callsOf(rp.seqs[i])
	}
	if !r.stream {
		rp.plain = rp.plainAnswer()
	}
	return rp
}

func (s *Server) sequence(rp *reply, index int, p prompt, l limits) *sequence {
	a := s.complete(p.ids, p.row, l)
	q := &sequence{reply: rp, index: index, prompt: p.ids, cached: s.prefixes.take(p.ids), tokens: a.tokens,
		finish: a.finish, stopID: a.stopID, garbleAt: -1, slot: -1}
	plan := &rp.plan
	if plan.half {
		q.tokens = q.tokens[:(len(q.tokens)+1)/2]
		q.finish, q.stopID = plan.finish, -1
	}
	if plan.empty {
		q.tokens, q.finish, q.stopID = q.tokens[:0], "stop", -1
	}
	if n := len(q.tokens); plan.twoEnds && n > 1 && q.tokens[n-1] == s.cfg.EOS {
		q.tokens[n-2] = s.cfg.EOS
	}
	q.reasoning = min(rp.reasoning, len(q.tokens))
	q.spelling = s.speller.spell(q.tokens)
	if n := len(q.tokens); plan.strayID && n > 0 {
		q.tokens[n/2] = int32(s.cfg.Vocabulary) + 7
	}
	if plan.garble != nil {
		q.garbleAt = q.middleEvent()
	}
	return q
}

// middleEvent returns the number of tokens sent up to the event in the middle of the answer.
func (q *sequence) middleEvent() int {
	var ends []int
	for walk := *q; ; {
		walk.sent = walk.eventEnd()
		ends = append(ends, walk.sent)
		if walk.sent == len(walk.tokens) {
			return ends[len(ends)/2]
		}
	}
}

// plainAnswer builds the bytes of an answer that is not streamed.
func (r *reply) plainAnswer() []byte {
	if r.plan.tail.failure {
		return answer(http.StatusInternalServerError, jsonType, string(r.fail(engineFailure)), false)
	}
	return answer(http.StatusOK, jsonType, string(r.enc.body(r)), false)
}
