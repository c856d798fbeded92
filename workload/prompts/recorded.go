package prompts

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/recording"
)

// recorded replays recorded sessions.
type recorded struct {
	p     *profile.Profile
	w     *writer
	list  []recording.Session
	calls [][]Call
	notes []string // sessions that were skipped
}

func newRecorded(p *profile.Profile, o Options) (Source, error) {
	if p.API.Kind != "chat" {
		return nil, fmt.Errorf("api.kind: recorded sessions consist of chats; use chat, not %s", p.API.Kind)
	}
	d := p.Data.Sessions
	list, notes, err := recording.Read(p.Data.Path, string(p.Data.Format), recording.Options{Sessions: d.Count,
		IdleGapCap: secondsOf(d.IdleGapCap), MaxWait: secondsOf(d.MaxWait), IgnoreDelays: d.IgnoreDelays,
		ThinkTimeOnly: d.ThinkTimeOnly, BlockTokens: d.BlockTokens, KeepErrors: d.KeepErrors, SkipInvalid: d.SkipInvalid})
	if err != nil {
		return nil, fmt.Errorf("data.path: %w", err)
	}
	w, err := newWriter(o.Tokenizer, p.Data.Corpus)
	if err != nil {
		return nil, err
	}
	r := &recorded{p: p, w: w, list: list, notes: notes}
	for _, s := range list {
		calls := make([]Call, len(s.Calls))
		for i, c := range s.Calls {
			calls[i] = Call{After: c.After, Delay: c.Delay}
		}
		r.calls = append(r.calls, calls)
	}
	return r, nil
}

func secondsOf(v float64) time.Duration {
	const longest = 366 * 24 * 3600
	return time.Duration(min(v, longest) * float64(time.Second))
}

func (s *recorded) Sessions() int      { return max(len(s.list), s.p.Data.Sessions.Count) }
func (s *recorded) Conversations() int { return 0 }

// Notes names the sessions that could not be read.
func (s *recorded) Notes() []string { return s.notes }

func (s *recorded) Calls(session int) ([]Call, error) { return s.calls[session%len(s.calls)], nil }

func (s *recorded) Request(session, call int, r *Request) error {
	r.Reset()
	d := s.p.Data.Sessions
	at := session % len(s.list)
	c := &s.list[at].Calls[call]
	r.Input, r.Model = c.Input, d.Models[c.Model]
	if r.Output = c.Output; r.Output == 0 {
		r.Output = d.DefaultOutput
	}
	if s.p.Data.Output != nil {
		r.Output = output(s.p.Data.Output, source(s.p.Seed, lengthStream+uint64(call)<<32, session))
	}
	r.Tools = append(r.Tools, c.Tools...)
	messages := c.Messages
	if c.Continues > 0 && !d.RecordedAnswer {
		messages, r.Continues = c.Own, c.Continues
	}
	if messages == nil {
		r.Text = s.text(at, call)
	}
	if d.RandomSession && r.Continues == 0 {
		r.System = fmt.Sprintf("session %016x", source(s.p.Seed, systemStream, session).Uint64())
	}
	r.Messages = append(r.Messages, bytes.TrimSpace(messages)...)
	return nil
}

// text returns a prompt of a recording that has lengths only. Equal blocks of a session are equal texts, so that a
// server's cache finds the prefixes that the recorded one found. It is one message, because the speakers are unknown.
func (s *recorded) text(session, call int) string {
	c := &s.list[session].Calls[call]
	var text strings.Builder
	left := max(c.Input, 1)
	for _, id := range c.Blocks {
		n := min(left, c.BlockTokens)
		if n == 0 {
			break
		}
		text.WriteString(s.w.text(source(s.p.Seed^uint64(session)<<32, prefixStream, int(id)), n))
		left -= n
	}
	text.WriteString(s.w.text(source(s.p.Seed^uint64(session)<<32, textStream, call), left))
	return text.String()
}
