package prompts

import (
	"math/rand/v2"

	"github.com/mlperf-go/mlperf-go/internal/quote"
	"github.com/mlperf-go/mlperf-go/workload/lengths"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// single is a Source of requests that belong to no session.
type single struct {
	rows  int  // different requests; 0: no end
	equal bool // all requests are one
	fill  func(row int, r *Request) error
}

var _ Repeating = (*single)(nil)

var oneCall = []Call{{}}

func (s *single) Sessions() int             { return s.rows }
func (s *single) Conversations() int        { return 0 }
func (s *single) Calls(int) ([]Call, error) { return oneCall, nil }

// Rows returns the number of different requests.
func (s *single) Rows() int {
	if s.equal {
		return 1
	}
	return s.rows
}

func (s *single) Request(session, _ int, r *Request) error {
	r.Reset()
	if s.rows > 0 {
		session %= s.rows
	}
	return s.fill(session, r)
}

// Streams of random numbers, apart from that of arrival times.
const (
	lengthStream uint64 = 0x6c656e67 << 32
	tokenStream  uint64 = 0x746f6b65 << 32
)

// source returns the random numbers of one row.
func source(seed, stream uint64, row int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream^uint64(row)))
}

// dice are random numbers that start again for each request.
type dice struct {
	numbers *rand.Rand
	pcg     rand.PCG
}

// source returns the random numbers of one row, until the next call.
func (r *Request) source(seed, stream uint64, row int) *rand.Rand {
	if r.dice == nil {
		r.dice = &dice{}
		r.dice.numbers = rand.New(&r.dice.pcg)
	}
	r.dice.pcg.Seed(seed, stream^uint64(row))
	return r.dice.numbers
}

func newFixed(p *profile.Profile, _ Options) (Source, error) {
	isPlain := quote.IsPlain(p.Data.Text)
	isEqual := p.Data.Output == nil || p.Data.Output.Kind == "fixed"
	return &single{rows: p.Data.Rows, equal: isEqual, fill: func(row int, r *Request) error {
		r.Text, r.Plain = p.Data.Text, isPlain
		r.Output = output(p.Data.Output, r.source(p.Seed, lengthStream, row))
		return nil
	}}, nil
}

// firstRandom is the lowest random id: tokenizers keep special tokens and single bytes below it.
const firstRandom = 300

func newRandom(p *profile.Profile, o Options) (Source, error) {
	span := max(o.Vocabulary-firstRandom, 1)
	low := min(firstRandom, o.Vocabulary-1)
	prefix := make([]int32, p.Data.Prefix)
	ids(prefix, source(p.Seed, tokenStream, -1), low, span)
	return &single{rows: p.Data.Rows, fill: func(row int, r *Request) error {
		long := r.source(p.Seed, lengthStream, row)
		n := max(1, lengths.Tokens(p.Data.Input, long))
		r.Output = output(p.Data.Output, long)
		r.IDs = append(r.IDs, prefix...)
		r.IDs = append(r.IDs, make([]int32, n)...)
		ids(r.IDs[len(prefix):], r.source(p.Seed, tokenStream, row), low, span)
		r.Input = len(r.IDs)
		return nil
	}}, nil
}

func ids(into []int32, r *rand.Rand, low, span int) {
	for i := range into {
		into[i] = int32(low + r.IntN(span))
	}
}
