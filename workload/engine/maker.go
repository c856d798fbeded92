package engine

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// maker makes the requests of all stages, from the profile, its data and its seed.
type maker struct {
	*Engine
	stage    int
	planned  int // requests so far
	firstSeq int // number of the stage's first request, if this is a part of a workload
	req      prompts.Request
	rows     rows
	bodies   int64 // bytes of all so far
}

func newMaker(e *Engine) maker { return maker{Engine: e, rows: newRows(e)} }

// Streams separate the random numbers of different uses.
const (
	thinkStream   uint64 = 0x7468696e << 32
	adapterStream uint64 = 0x61646170 << 32
	classStream   uint64 = 0x636c6173 << 32
)

func (m *maker) random(stream uint64, number int) *rand.Rand {
	return rand.New(rand.NewPCG(m.Profile.Seed, stream^uint64(number)))
}

// prepare fills a slot with a call of a session. number distributes requests to queues.
func (m *maker) prepare(session, call, number int, h *History) (*slot, error) {
	s, row := m.table.get(), m.rows.of(session)
	if !row.fill(s) {
		if err := m.make(s, session, call, h); err != nil {
			m.table.put(s)
			return nil, err
		}
		m.rows.learn(row, s)
	}
	m.bodies += int64(len(s.body))
	s.rec.RequestBytes = len(s.body)
	s.number, s.call = number, call
	s.rec.Seq, s.rec.Stage = m.planned, m.stage
	if m.Part.Of > 1 {
		s.rec.Seq = m.firstSeq + number
	}
	m.behave(s, session, call)
	m.planned++
	return s, nil
}

// make sets what a slot has from its request: the body, and what it asks for.
func (m *maker) make(s *slot, session, call int, h *History) error {
	if err := m.Source.Request(session, call, &m.req); err != nil {
		return err
	}
	if !m.Profile.API.Generates() {
		m.req.Output = 0 // recorded data have one
	}
	if m.req.Model == "" {
		m.req.Model, s.rec.Adapter = m.adapter(session)
	}
	s.model = m.req.Model
	m.classify(session)
	var err error
	if s.own, err = m.Encoder.Append(s.own, &m.req, h); err != nil {
		return fmt.Errorf("request %d cannot be built: %w", m.planned, err)
	}
	s.body = s.own
	s.rec.AskedInput, s.rec.AskedOutput, s.rec.Group = m.req.Input, m.req.Output, m.req.Group
	return nil
}

// adapter draws the model of a request and its number in the profile, from 1; empty and 0: the run's.
func (m *maker) adapter(number int) (string, int) {
	list := m.Profile.API.Adapters
	if len(list) == 0 {
		return "", 0
	}
	i, at := 0, m.random(adapterStream, number).Float64()-list[0].Share
	for ; at >= 0 && i < len(list)-1; i++ {
		at -= list[i+1].Share
	}
	return list[i].Name, i + 1
}

// classify draws the class of a request, and sets its priority. Figures by group are then figures by class.
func (m *maker) classify(number int) {
	list := m.Profile.API.Classes
	if len(list) == 0 {
		return
	}
	i, at := 0, m.random(classStream, number).Float64()-list[0].Share
	for ; at >= 0 && i < len(list)-1; at -= list[i].Share {
		i++
	}
	m.req.Group, m.req.Members = i+1, `,"priority":`+strconv.Itoa(list[i].Priority)
}

// behave sets how the client of a request behaves. That depends on the seed and on the call alone.
func (m *maker) behave(s *slot, session, call int) {
	load := &m.Profile.Load
	if load.Leave == nil && load.Slow == nil {
		return
	}
	s.conduct = conduct(load, func(stream uint64) *rand.Rand {
		return rand.New(rand.NewPCG(m.Profile.Seed+uint64(call), stream^uint64(session)))
	})
	s.rec.Leaver, s.rec.Slow = s.conduct.Leaves(), s.conduct.IsSlow()
}
