package measure

import (
	"cmp"
	"runtime"
	"slices"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Options select what is computed.
type Options struct {
	Definition string  // empty: this program's
	Limits     []Limit // of a good request
	Load       *profile.Load
	Classes    []profile.Class // of priority, which name the groups
	Scan       *Scan           // of the whole log, for the same Load; nil: Log makes one
	most       int             // 0: Most
}

// Measured are the figures of a run.
type Measured struct {
	Definition string          `json:"definition"`
	Header     eventlog.Header `json:"-"`
	End        *eventlog.End   `json:"end"` // nil: the log was cut
	Total      Figures         `json:"total"`
	Stages     []Part          `json:"stages"`
	Turns      []Part          `json:"turns,omitempty"`  // of sessions
	Groups     []Part          `json:"groups,omitempty"` // of prompts with a common prefix, or classes of priority
	Steady     *Steady         `json:"steady,omitempty"`
	MLPerf     *Completed      `json:"mlperf,omitempty"`
	LeftOut    int64           `json:"left_out"` // requests of warm-up and cool-down, which the total leaves out
}

// Part is the figures of the requests with one number.
type Part struct {
	Number int    `json:"number"`
	Name   string `json:"name,omitempty"` // of a class of priority
	Figures
}

// From manyRequests requests on, a pass over the log computes as many metrics as fit passBytes.
const (
	manyRequests = 1 << 20
	passBytes    = 160 << 20
	valueBytes   = 8
)

// visit is called with every request of a log, in their order.
type visit = func(*eventlog.Header, *eventlog.Request) error

// reader calls every function with every request of a log. Each has a goroutine of its own.
type reader func(each ...visit) (*eventlog.End, error)

// Log computes the figures of an event log.
func Log(path string, o Options) (*Measured, error) {
	return measure(readerOf(path), o)
}

func readerOf(path string) reader {
	return func(each ...visit) (*eventlog.End, error) { return eventlog.Read(path, each...) }
}

func measure(read reader, o Options) (*Measured, error) {
	d, err := Define(o.Definition)
	if err != nil {
		return nil, err
	}
	m := &Measured{Definition: d.Name}
	w, err := m.windows(read, &o)
	if err != nil {
		return nil, err
	}
	for i, metrics := range w.passes(d.Metrics) {
		if err := m.total(read, d, &o, w, metrics, i == 0); err != nil {
			return nil, err
		}
		if w.isOne {
			continue
		}
		if err := m.parts(read, d, &o, w, metrics, i == 0); err != nil {
			return nil, err
		}
	}
	if w.isOne {
		for number := range w.stages {
			m.Stages = []Part{{Number: number, Figures: m.Total}}
		}
	}
	m.MLPerf = w.completed()
	m.Steady, err = w.steady(read, d)
	return m, err
}

// shares divides metrics among the CPUs.
func shares(metrics []Metric) [][]Metric {
	list := make([][]Metric, min(len(metrics), runtime.GOMAXPROCS(0)))
	for i, m := range metrics {
		list[i%len(list)] = append(list[i%len(list)], m)
	}
	return list
}

// total adds metrics of the whole run.
func (m *Measured) total(read reader, d *Definition, o *Options, w *windows, metrics []Metric, counting bool) error {
	var pots []*pot
	var visits []visit
	add := func(metrics []Metric, isCounting bool) {
		p := newPot(metrics, o.Limits, w.most, isCounting, w.requests)
		pots = append(pots, p)
		visits = append(visits, func(_ *eventlog.Header, r *eventlog.Request) error {
			if w.counts(r) {
				p.add(r)
			}
			return nil
		})
	}
	if counting {
		add(nil, true)
		visits = append(visits, m.notice(w))
	}
	for _, share := range shares(metrics) {
		add(share, false)
	}
	end, err := read(visits...)
	m.End = end
	for _, p := range pots {
		p.finish(&m.Total, d.rule)
	}
	return err
}

// notice returns what notes the header, the requests in flight, and those that do not count.
func (m *Measured) notice(w *windows) visit {
	stage, longest := w.longest()
	if longest != nil {
		longest.divide()
	}
	var header *eventlog.Header
	return func(h *eventlog.Header, r *eventlog.Request) error {
		if h != header {
			header, m.Header = h, *h
		}
		if longest != nil && r.Stage == stage {
			longest.fly(sent(r), r.EndNS)
		}
		if !w.counts(r) {
			m.LeftOut++
		}
		return nil
	}
}

// partKinds are the ways to divide requests.
var partKinds = []struct {
	by   func(r *request) (int, bool)
	into func(m *Measured) *[]Part
}{
	{func(r *request) (int, bool) { return r.Stage, true }, func(m *Measured) *[]Part { return &m.Stages }},
	{func(r *request) (int, bool) { return r.Turn, r.Session > 0 }, func(m *Measured) *[]Part { return &m.Turns }},
	{func(r *request) (int, bool) { return r.Group, r.Group > 0 }, func(m *Measured) *[]Part { return &m.Groups }},
}

// parts adds metrics of each stage, turn and group.
func (m *Measured) parts(read reader, d *Definition, o *Options, w *windows, metrics []Metric, counting bool) error {
	var groups []*group
	var visits []visit
	add := func(metrics []Metric, isCounting bool) {
		for i := range partKinds {
			g := &group{by: partKinds[i].by, pots: map[int]*pot{}, into: partKinds[i].into(m)}
			groups = append(groups, g)
			visits = append(visits, func(_ *eventlog.Header, r *eventlog.Request) error {
				g.add(r, func(key int) *pot {
					room := int64(0)
					if i == 0 {
						room = w.stages[key].requests
					}
					return newPot(metrics, o.Limits, w.most, isCounting, room)
				})
				return nil
			})
		}
	}
	if counting {
		add(nil, true)
	}
	for _, share := range shares(metrics) {
		add(share, false)
	}
	_, err := read(visits...)
	defer m.nameGroups(o.Classes)
	for _, g := range groups {
		for n, key := range g.keys() {
			if n == len(*g.into) {
				*g.into = append(*g.into, Part{Number: key})
			}
			g.pots[key].finish(&(*g.into)[n].Figures, d.rule)
		}
	}
	return err
}

// nameGroups names the groups that are classes, whose numbers count from 1.
func (m *Measured) nameGroups(classes []profile.Class) {
	for i := range m.Groups {
		if n := m.Groups[i].Number; n <= len(classes) {
			m.Groups[i].Name = classes[n-1].Name
		}
	}
}

// windows are the limits in time that a first pass over the log finds.
type windows struct {
	requests int64
	most     int // values of a metric that are kept one by one; 0: histograms from the first value on
	load     *profile.Load
	stages   map[int]*extent
	isOne    bool // the total has the requests of the only stage, and there are no other parts
}

// passes divides metrics among passes over the log, in their order. A pass may compute one that needs more than
// passBytes by itself.
func (w *windows) passes(metrics []Metric) [][]Metric {
	if w.requests <= manyRequests || w.most == 0 {
		return [][]Metric{metrics}
	}
	var list [][]Metric
	room := 0
	for i := range metrics {
		need := valueBytes * int(min(w.requests, int64(w.most)))
		if metrics[i].gaps != nil {
			need = valueBytes * w.most // an answer has many gaps
		}
		if room -= need; room < 0 {
			list, room = append(list, nil), passBytes-need
		}
		last := len(list) - 1
		list[last] = append(list[last], metrics[i])
	}
	return list
}

// extent is the time of one stage.
type extent struct {
	start, end int64 // first sending, last end
	lastSent   int64
	requests   int64
	due        dues
	from, to   int64   // counted: sent within; 0: no limit
	bins       []int64 // ns in flight, by bin; those of the longest stage only
	width      int64
}

// Scan notes the number and the times of all requests of a log, from which its figures start. A caller that writes or
// reads the log anyway can fill one, which saves Log a pass.
type Scan struct {
	load     *profile.Load
	requests int64
	stages   map[int]*extent
	sends    map[int][]int64 // by stage; nil: no window counts requests
	hasParts bool            // sessions or groups of prompts

	last      *extent // of the request before: most have the same stage
	lastStage int
}

// NewScan returns an empty scan for the log of a load; nil: it is unknown.
func NewScan(load *profile.Load) *Scan {
	s := &Scan{load: load, stages: map[int]*extent{}}
	if load != nil && (load.Warmup.Requests > 0 || load.Cooldown.Requests > 0) {
		s.sends = map[int][]int64{}
	}
	return s
}

// Add notes the next request of the log.
func (s *Scan) Add(r *eventlog.Request) {
	s.requests++
	s.hasParts = s.hasParts || r.Session > 0 || r.Group > 0
	e := s.last
	if e == nil || r.Stage != s.lastStage {
		if e = s.stages[r.Stage]; e == nil {
			e = &extent{start: sent(r), due: dues{first: r.DueNS, last: r.DueNS}}
			s.stages[r.Stage] = e
		}
		s.last, s.lastStage = e, r.Stage
	}
	e.requests++
	e.start, e.lastSent, e.end = min(e.start, sent(r)), max(e.lastSent, sent(r)), max(e.end, r.EndNS)
	e.due.add(r)
	if s.sends != nil {
		s.sends[r.Stage] = append(s.sends[r.Stage], sent(r))
	}
}

func (m *Measured) windows(read reader, o *Options) (*windows, error) {
	s := o.Scan
	if s == nil {
		s = NewScan(o.Load)
		_, err := read(func(_ *eventlog.Header, r *eventlog.Request) error {
			s.Add(r)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return s.windows(cmp.Or(o.most, Most)), nil
}

// Counted returns what reports whether a request of the log enters the total: not those of warm-up and cool-down.
func (s *Scan) Counted() func(*eventlog.Request) bool { return s.windows(Most).counts }

func (s *Scan) windows(most int) *windows {
	w := &windows{load: s.load, requests: s.requests, stages: s.stages}
	if w.requests <= int64(most) {
		w.most = most
	}
	w.isOne = len(w.stages) == 1 && !s.hasParts
	for stage, e := range w.stages {
		if w.load != nil {
			slices.Sort(s.sends[stage])
			e.from = e.edge(w.load.Warmup, s.sends[stage], false)
			e.to = e.edge(w.load.Cooldown, s.sends[stage], true)
		}
		w.isOne = w.isOne && !w.isWarmup(stage) && e.from == 0 && e.to == 0
	}
	return w
}

func (w *windows) isWarmup(stage int) bool {
	return w.load != nil && stage < len(w.load.Stages) && w.load.Stages[stage].Warmup
}

// edge returns where a window of warm-up or cool-down ends, seen from its end of the stage; 0: there is no such
// window. The first limit that is reached ends it.
func (e *extent) edge(w profile.Window, sends []int64, atEnd bool) int64 {
	long := int64(0)
	shorter := func(ns int64) {
		if long == 0 || ns < long {
			long = ns
		}
	}
	if w.Duration > 0 {
		shorter(int64(w.Duration))
	}
	if w.Share > 0 {
		shorter(int64(w.Share * float64(e.end-e.start)))
	}
	switch n := w.Requests; {
	case n == 0:
	case n >= len(sends):
		shorter(e.end - e.start + 1) // all of the stage
	case atEnd:
		shorter(e.end - sends[len(sends)-n])
	default:
		shorter(sends[n] - e.start)
	}
	switch {
	case long == 0:
		return 0
	case atEnd:
		return e.end - long
	}
	return e.start + long
}

// counts reports whether a request enters the total: its stage is not a warm-up, and it was sent within the windows.
func (w *windows) counts(r *request) bool {
	if w.isOne {
		return true
	}
	e := w.stages[r.Stage]
	if w.isWarmup(r.Stage) {
		return false
	}
	at := sent(r)
	return (e.from == 0 || at >= e.from) && (e.to == 0 || at < e.to)
}
