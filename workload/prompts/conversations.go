package prompts

import (
	"time"

	"github.com/mlperf-go/mlperf-go/workload/lengths"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// conversations is a population of synthetic conversations. A finished one starts again, or another one if they are
// fresh.
type conversations struct {
	p      *profile.Profile
	w      *writer
	x      *prefixes
	shared string
}

func newConversations(p *profile.Profile, o Options) (Source, error) {
	w, err := newWriter(o.Tokenizer, p.Data.Corpus)
	if err != nil {
		return nil, err
	}
	c := &conversations{p: p, w: w, x: newPrefixes(p, w)}
	c.shared = w.text(source(p.Seed, systemStream, -1), p.Data.Turns.SharedSystem)
	return c, nil
}

func (c *conversations) Sessions() int      { return c.p.Data.Turns.Conversations }
func (c *conversations) Conversations() int { return c.p.Data.Turns.Conversations }

// number returns the conversation of a session.
func (c *conversations) number(session int) int {
	if c.p.Data.Turns.Fresh {
		return session
	}
	return session % c.Sessions()
}

// turn contains the lengths of one turn in tokens, and the time before it, or with rotation after it.
type turn struct {
	input, output int
	delay         time.Duration
}

// turns returns the turns of a conversation, and the tokens of its own system prompt.
func (c *conversations) turns(session int) (turns []turn, system int) {
	t := c.p.Data.Turns
	r := source(c.p.Seed, lengthStream, session)
	if t.System != nil {
		system = lengths.Tokens(t.System, r)
	}
	n := min(tokens(t.Count, r), mostTurns)
	context := 0
	for i := range n {
		one := turn{input: tokens(c.p.Data.Input, r), output: output(c.p.Data.Output, r)}
		if i == 0 && t.FirstInput != nil {
			one.input = tokens(t.FirstInput, r)
		}
		if (i > 0 || c.p.Data.Rotate) && t.ToolLatency != nil {
			one.delay = time.Duration(lengths.Draw(t.ToolLatency, r) * float64(time.Second))
		}
		if i == 0 { // a system prompt that leaves no room for the first turn is cut
			if room := t.MaxContext - c.opening(session, 0) - one.input - one.output; t.MaxContext > 0 {
				system = max(0, min(system, room))
			}
			context = c.opening(session, system)
		}
		context += one.input + one.output
		if t.MaxContext > 0 && context > t.MaxContext && i > 0 {
			break
		}
		turns = append(turns, one)
	}
	return turns, system
}

// opening returns the number of tokens before the first turn of a conversation with its own system prompt.
func (c *conversations) opening(session, system int) int {
	pooled, _ := c.x.choose(session)
	return c.p.Data.Turns.SharedSystem + system + c.x.allSize + pooled
}

func (c *conversations) Calls(session int) ([]Call, error) {
	turns, _ := c.turns(c.number(session))
	calls := chain(len(turns))
	for i := range calls {
		calls[i].Delay = turns[i].delay
	}
	return calls, nil
}

func (c *conversations) Request(session, call int, r *Request) error {
	r.Reset()
	session = c.number(session)
	turns, system := c.turns(session)
	one := turns[call]
	r.Text = c.w.text(source(c.p.Seed, textStream+uint64(call)<<32, session), one.input)
	r.Input, r.Output = one.input, one.output
	if call > 0 {
		r.Continues = call
		return nil
	}
	prefix, size, group := c.x.of(session)
	own := c.w.text(source(c.p.Seed, systemStream, session), system)
	opening(c.p, r, c.shared+prefix+own, c.p.Data.Turns.SharedSystem+size+system)
	if r.Group = group; group == 0 && c.shared != "" {
		r.Group = 1
	}
	return nil
}
