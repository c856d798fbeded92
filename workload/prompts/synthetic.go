package prompts

import (
	"fmt"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf-go/workload/lengths"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Further streams of random numbers.
const (
	textStream   uint64 = 0x74657874 << 32
	prefixStream uint64 = 0x70726566 << 32
	chooseStream uint64 = 0x63686f6f << 32
	systemStream uint64 = 0x73797374 << 32
)

// tokens draws a length of at least one.
func tokens(d *profile.Distribution, r *rand.Rand) int { return max(1, lengths.Tokens(d, r)) }

// output draws the limit of an answer; 0: the data or the server decides.
func output(d *profile.Distribution, r *rand.Rand) int {
	if d == nil {
		return 0
	}
	return tokens(d, r)
}

// prefixes chooses a common prefix for each row: one for all, or one of weighted pools.
type prefixes struct {
	w       *writer // nil: the caller needs lengths only
	seed    uint64
	all     string
	allSize int
	buckets []profile.Bucket
	total   float64
}

func newPrefixes(p *profile.Profile, w *writer) *prefixes {
	x := &prefixes{w: w, seed: p.Seed, buckets: p.Data.Buckets, allSize: p.Data.Prefix}
	if w != nil {
		x.all = w.text(source(p.Seed, prefixStream, -1), x.allSize)
	}
	for _, b := range x.buckets {
		x.total += b.Weight
	}
	return x
}

// of returns the prefix of a row, its tokens and its group, from 1; 0: no group.
func (x *prefixes) of(row int) (text string, size, group int) {
	pooled, group := x.choose(row)
	if text = x.all; pooled > 0 {
		text += x.w.text(source(x.seed, prefixStream, group-1), pooled)
	}
	return text, x.allSize + pooled, group
}

// choose returns the group of a row, from 1 (0: no group), and the tokens that its pool adds to the common prefix.
func (x *prefixes) choose(row int) (pooled, group int) {
	if len(x.buckets) == 0 {
		return 0, min(x.allSize, 1)
	}
	r := source(x.seed, chooseStream, row)
	at, before := r.Float64()*x.total, 0
	for i, b := range x.buckets {
		if at -= b.Weight; at >= 0 && i < len(x.buckets)-1 {
			before += b.Count
			continue
		}
		return b.Tokens, before + r.IntN(b.Count) + 1
	}
	return 0, 0
}

func newSynthetic(p *profile.Profile, o Options) (Source, error) {
	w, err := newWriter(o.Tokenizer, p.Data.Corpus)
	if err != nil {
		return nil, err
	}
	x := newPrefixes(p, w)
	return &single{rows: p.Data.Rows, fill: func(row int, r *Request) error {
		long := source(p.Seed, lengthStream, row)
		n := tokens(p.Data.Input, long)
		r.Output = output(p.Data.Output, long)
		prefix, size, group := x.of(row)
		r.Text, r.Input, r.Group = prefix+w.text(source(p.Seed, textStream, row), n), size+n, group
		if p.API.Kind == "rerank" {
			r.Documents = append(r.Documents[:0], documents(w, p, row)...)
		}
		return nil
	}}, nil
}

// documents returns the passages of a rerank request.
func documents(w *writer, p *profile.Profile, row int) []string {
	of, r := p.Data.Ranked(), source(p.Seed, systemStream, row)
	texts := make([]string, of.Count)
	for i := range texts {
		texts[i] = w.text(r, tokens(of.Tokens, r))
	}
	return texts
}

// newSharedPrefix returns users who share the system prompts of their groups. Without turns, the users' prompts are
// sent repeatedly in random order. With turns, each user is a session without end.
func newSharedPrefix(p *profile.Profile, o Options) (Source, error) {
	w, err := newWriter(o.Tokenizer, p.Data.Corpus)
	if err != nil {
		return nil, err
	}
	if p.Data.Groups.Count > mostUsers/p.Data.Groups.Users {
		return nil, fmt.Errorf("data.groups: more than %d users", mostUsers)
	}
	s := newGroups(p, w)
	if !p.Data.Groups.MultiTurn {
		return &single{rows: len(s.order), fill: func(row int, r *Request) error { return s.fill(row, 0, r) }}, nil
	}
	s.calls = chain(mostTurns)
	return s, nil
}

// Bounds of populations.
const (
	mostUsers = 10_000_000
	mostTurns = 1000 // of a user whose session has no end
)

// chain returns calls that each wait for the previous one.
func chain(n int) []Call {
	calls := make([]Call, n)
	for i := 1; i < n; i++ {
		calls[i].After = []int{i - 1}
	}
	return calls
}

type groups struct {
	p       *profile.Profile
	w       *writer // nil: the caller needs lengths only
	systems []string
	sizes   []int
	order   []int
	calls   []Call
}

func newGroups(p *profile.Profile, w *writer) *groups {
	g := p.Data.Groups
	s := &groups{p: p, w: w, systems: make([]string, g.Count), sizes: make([]int, g.Count)}
	for i := range s.systems {
		r := source(p.Seed, systemStream, i)
		if s.sizes[i] = tokens(g.System, r); w != nil {
			s.systems[i] = w.text(r, s.sizes[i])
		}
	}
	s.order = rand.New(rand.NewPCG(p.Seed, chooseStream)).Perm(g.Count * g.Users)
	return s
}

func (s *groups) Sessions() int             { return len(s.order) }
func (s *groups) Conversations() int        { return len(s.order) }
func (s *groups) Calls(int) ([]Call, error) { return s.calls, nil }

func (s *groups) Request(session, call int, r *Request) error {
	r.Reset()
	return s.fill(session%len(s.order), call, r)
}

func (s *groups) fill(row, call int, r *Request) error {
	user := s.order[row]
	group := user / s.p.Data.Groups.Users
	n, out := s.lengths(user, call)
	r.Output, r.Group, r.Input = out, group+1, n
	r.Text = s.w.text(source(s.p.Seed, textStream+uint64(call)<<32, user), n)
	if call == 0 {
		opening(s.p, r, s.systems[group], s.sizes[group])
	} else {
		r.Continues = call
	}
	return nil
}

// lengths returns the tokens of a user's question and of the limit of its answer.
func (s *groups) lengths(user, call int) (question, answer int) {
	r := source(s.p.Seed, lengthStream+uint64(call)<<32, user)
	return tokens(s.p.Data.Groups.Question, r), output(s.p.Data.Output, r)
}

// opening puts a system prompt before the first prompt of a session.
func opening(p *profile.Profile, r *Request, system string, size int) {
	r.Input += size
	if p.API.IsChat() {
		r.System = system
	} else {
		r.Text = system + r.Text
	}
}
