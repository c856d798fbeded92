package startup

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// Bounds of a log.
const (
	longestLine = 256 << 10 // the rest of a longer line is skipped
	largestLog  = 1 << 30
	mostRecords = 10_000 // lines that matter
	mostEvents  = 1000
)

// Options contain facts that a log may lack.
type Options struct {
	Server string    // "vllm" or "sglang"; empty: by its lines
	Start  time.Time // when the process started: it decides the year, which most logs lack; zero: the current year
}

// Report is the start of one server.
type Report struct {
	Server     string     `json:"server" yaml:"server"`
	Model      string     `json:"model,omitempty" yaml:"model,omitempty"`
	Version    string     `json:"version,omitempty" yaml:"version,omitempty"`
	Args       string     `json:"args,omitempty" yaml:"args,omitempty"`
	LoadFormat string     `json:"load_format,omitempty" yaml:"load_format,omitempty"`
	SleepMode  bool       `json:"sleep_mode" yaml:"sleep_mode"`
	Started    *time.Time `json:"started,omitempty" yaml:"started,omitempty"`
	Ready      *time.Time `json:"ready,omitempty" yaml:"ready,omitempty"`
	Pod        *Pod       `json:"pod,omitempty" yaml:"pod,omitempty"`
	GPUs       []GPU      `json:"gpus,omitempty" yaml:"gpus,omitempty"`
	Engine     Engine     `json:"engine" yaml:"engine"`
	Sleeps     []Sleep    `json:"sleep_wake,omitempty" yaml:"sleep_wake,omitempty"`
	Processes  []Process  `json:"processes" yaml:"processes"`
	Notes      []string   `json:"notes,omitempty" yaml:"notes,omitempty"`
}

// Engine is the figures of the load: seconds and GiB; 0: the log lacks them.
type Engine struct {
	Load struct {
		Time float64 `json:"time_s" yaml:"time"`
		Size float64 `json:"size_gib" yaml:"size"`
		Rate float64 `json:"transfer_rate_gib_per_s" yaml:"transfer_rate"`
	} `json:"load" yaml:"load"`
	Dynamo       float64 `json:"dynamo_bytecode_transform_s,omitempty" yaml:"dynamo_bytecode_transform,omitempty"`
	CachedGraph  float64 `json:"load_cached_compiled_graph_s,omitempty" yaml:"load_cached_compiled_graph,omitempty"`
	CompileGraph float64 `json:"compile_graph_s,omitempty" yaml:"compile_graph,omitempty"`
	Compile      float64 `json:"torch_compile_s,omitempty" yaml:"torch_compile,omitempty"`
	InitEngine   float64 `json:"init_engine_s,omitempty" yaml:"init_engine,omitempty"`
	Memory       struct {
		InitialFree float64 `json:"initial_free_gib" yaml:"initial_free"`
		AfterFree   float64 `json:"after_free_gib" yaml:"after_free"`
		Time        float64 `json:"time_s" yaml:"time"`
	} `json:"memory_profiling" yaml:"memory_profiling"`
}

// Pod contains facts about a server in a pod that the cluster records and the server's log lacks.
type Pod struct {
	Name      string  `json:"name" yaml:"name"`
	Container string  `json:"container" yaml:"container"`
	Image     string  `json:"image" yaml:"image"`
	Start     float64 `json:"start_s" yaml:"start"` // seconds from the start of the pod until it was ready
}

// GPU is a processor that the log names.
type GPU struct {
	UUID        string `json:"uuid" yaml:"uuid"`
	Name        string `json:"name" yaml:"name"`
	Compute     string `json:"compute_cap" yaml:"compute_cap"`
	Persistence string `json:"persistence_mode" yaml:"persistence_mode"`
}

// Sleep is a change to or from sleep mode.
type Sleep struct {
	At    *time.Time `json:"timestamp,omitempty" yaml:"timestamp,omitempty"` // its end; nil: the log has no times
	Type  string     `json:"type" yaml:"type"`                               // sleep or wake
	Time  float64    `json:"time_s" yaml:"time"`
	Freed float64    `json:"gpu_freed_gib,omitempty" yaml:"gpu_freed,omitempty"`
	InUse float64    `json:"gpu_in_use_gib,omitempty" yaml:"gpu_in_use,omitempty"`
}

// Process is the categories of one process of the server.
type Process struct {
	Name       string     `json:"name" yaml:"name"`
	PID        int        `json:"pid" yaml:"pid"`
	Categories []Category `json:"categories" yaml:"categories"`
}

// Category is a part of a start. Its parts add up to its length.
type Category struct {
	Title      string     `json:"title" yaml:"title"`
	Elapsed    float64    `json:"elapsed_s" yaml:"elapsed"`
	Categories []Category `json:"categories,omitempty" yaml:"categories,omitempty"`
}

// Uncategorized is the title of a gap between two categories.
const Uncategorized = "Uncategorized"

// line is a line with a time.
type line struct {
	at   time.Time
	text string
}

var (
	stamp   = regexp.MustCompile(`\b(?:(\d{4})-)?(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,6}))?`)
	process = regexp.MustCompile(`\(([\w.-]{1,64}) pid=(\d{1,9})\)`)
	ranks   = regexp.MustCompile(`^\[[-\d]+ [\d:.,]+ ((?:[A-Z]{2,3}\d{1,5} ?){1,6})\]`) // SGLang's, such as TP0
	version = regexp.MustCompile(`\bversion v?(\d[\w.+-]*)|\bLLM engine \(v([\w.+-]+)\)`)
	model   = regexp.MustCompile(`'model': '([^']{1,500})'|\bmodel_path='([^']{1,500})'|\bmodel='([^']{1,500})'`)
	format  = regexp.MustCompile(`load_format='?(?:LoadFormat\.)?(\w+)`)
	gpu     = regexp.MustCompile(`(gpu_uuid|gpu_name|compute_cap|persistence_mode)='([^']{0,200})'`)
)

// parser collects the relevant parts of a log.
type parser struct {
	o       Options
	server  *wordings
	report  *Report
	order   []string // processes in the order of their first line
	lines   map[string][]line
	kept    int
	base    time.Time // first time of the log
	last    time.Time
	inGPUs  bool
	read    map[int]bool // of the quantities
	pending Sleep
}

// Parse reads the log of a server's start. name appears in errors.
func Parse(name string, r io.Reader, o Options) (*Report, error) {
	p := &parser{o: o, report: &Report{}, lines: map[string][]line{}, read: map[int]bool{}}
	for i := range servers {
		if servers[i].name == o.Server {
			p.server = &servers[i]
		}
	}
	if o.Server != "" && p.server == nil {
		return nil, fmt.Errorf("no wordings of server %.40q; there are those of vllm and sglang", o.Server)
	}
	other := "" // server whose log it is, if another one was named
	in := bufio.NewReaderSize(io.LimitReader(r, largestLog), longestLine)
	for {
		text, err := in.ReadSlice('\n')
		if other == "" && o.Server != "" {
			other = signed(string(text), o.Server)
		}
		p.add(strings.ToValidUTF8(string(text), "�"))
		for err == bufio.ErrBufferFull {
			_, err = in.ReadSlice('\n')
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("log %s: %w", name, err)
		}
	}
	if p.kept == 0 && other != "" {
		return nil, fmt.Errorf("log %s has no line of a start of %s, but some of %s; name that server, or let it be detected",
			name, o.Server, other)
	}
	if p.server == nil || p.kept == 0 {
		return nil, fmt.Errorf("log %s has no line of a server's start; give the whole log of vLLM "+
			"(VLLM_LOGGING_LEVEL=DEBUG) or SGLang", name)
	}
	p.finish()
	return p.report, nil
}

// signed returns the server, other than not, whose first lines contain such a line; empty: none.
func signed(text, not string) string {
	for i := range servers {
		if servers[i].name != not && containsAny(text, servers[i].sign) {
			return servers[i].name
		}
	}
	return ""
}

func containsAny(text string, marks []string) bool {
	return slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(text, m) })
}

// marked reports whether a line starts or ends a category.
func marked(text string, list []category) bool {
	return slices.ContainsFunc(list, func(c category) bool {
		return containsAny(text, c.starts) || containsAny(text, c.ends) || containsAny(text, c.instead) ||
			marked(text, c.below)
	})
}

func (p *parser) add(text string) {
	if p.server == nil {
		for i := range servers {
			if containsAny(text, servers[i].sign) {
				p.server = &servers[i]
				break
			}
		}
		if p.server == nil {
			return
		}
	}
	if containsAny(text, p.server.skip) && strings.Contains(text, "serialization") {
		*p = parser{o: p.o, server: p.server, report: &Report{}, lines: map[string][]line{}, read: map[int]bool{}}
		return
	}
	at, hasTime := p.timeOf(text)
	p.facts(text, at, hasTime)
	p.sleep(text, at, hasTime)
	for k, q := range quantities {
		if i := markEnd(text, q.marks); i >= 0 && (q.every || !p.read[k]) {
			q.into(&p.report.Engine, measured(text[i:]))
			p.read[k] = true
		}
	}
	if !hasTime || p.kept >= mostRecords || !marked(text, p.server.categories) {
		return
	}
	owner := ""
	if m := process.FindAllString(text, -1); m != nil {
		owner = m[len(m)-1]
	} else if m := ranks.FindStringSubmatch(text); m != nil {
		owner = m[1]
	}
	if p.lines[owner] == nil {
		p.order = append(p.order, owner)
	}
	p.lines[owner] = append(p.lines[owner], line{at, text})
	p.kept++
}

// markEnd returns the position behind the first mark in a text, or -1.
func markEnd(text string, marks []string) int {
	for _, m := range marks {
		if i := strings.Index(text, m); i >= 0 {
			return i + len(m)
		}
	}
	return -1
}

// timeOf parses a line's time. Without a year, the year is the start's, or the next one for a month before the start's.
// If the start is unknown, the log began in the last year.
func (p *parser) timeOf(text string) (time.Time, bool) {
	m := stamp.FindStringSubmatch(text[:min(len(text), 300)])
	if m == nil {
		return time.Time{}, false
	}
	n := func(i int) int { v, _ := strconv.Atoi(m[i]); return v }
	start := p.o.Start
	if start.IsZero() {
		start = time.Now().UTC()
	}
	year := start.Year()
	if m[1] != "" {
		year = n(1)
	}
	nanos := 0
	if m[7] != "" {
		nanos, _ = strconv.Atoi((m[7] + "000000000")[:9])
	}
	at := time.Date(year, time.Month(n(2)), n(3), n(4), n(5), n(6), nanos, time.UTC)
	if int(at.Month()) != n(2) || at.Day() != n(3) || n(4) > 23 || n(5) > 59 || n(6) > 60 {
		return time.Time{}, false
	}
	const day, half = 24 * time.Hour, 182 * 24 * time.Hour // a log does not last longer than half a year
	if m[1] == "" && p.o.Start.IsZero() && at.After(start.Add(day)) {
		at = at.AddDate(-1, 0, 0)
	}
	if p.base.IsZero() {
		p.base = at
	}
	if m[1] == "" && p.base.Sub(at) > half {
		at = at.AddDate(1, 0, 0)
	}
	p.last = at
	return at, true
}

// facts reads single values; the first line with a value counts.
func (p *parser) facts(text string, at time.Time, hasTime bool) {
	r := p.report
	if i := markEnd(text, []string{"non-default args:", "server_args="}); i >= 0 && r.Args == "" {
		r.Args = bounded(strings.TrimSpace(text[i:]))
		if hasTime {
			r.Started = &at
		}
	}
	if r.Started == nil && hasTime && strings.Contains(text, "plugins/__init__.py") {
		r.Started = &at
	}
	if m := version.FindStringSubmatch(text); m != nil && r.Version == "" {
		r.Version = bounded(m[1] + m[2])
	}
	if m := model.FindStringSubmatch(text); m != nil && r.Model == "" {
		r.Model = m[1] + m[2] + m[3]
	}
	if m := format.FindStringSubmatch(text); m != nil && r.LoadFormat == "" {
		if name := strings.ToLower(m[1]); slices.Contains(loadFormats, name) {
			r.LoadFormat = name
		}
	}
	r.SleepMode = r.SleepMode || strings.Contains(text, "'enable_sleep_mode': True")
	if r.Ready == nil && hasTime && containsAny(text, []string{"Available routes are:", "The server is fired up"}) {
		r.Ready = &at
	}
	p.gpus(text)
}

func (p *parser) gpus(text string) {
	switch {
	case strings.Contains(text, "--- gpu scenario start name:"):
		p.inGPUs = true
	case strings.Contains(text, "--- gpu scenario end name:"):
		p.inGPUs = false
	}
	if !p.inGPUs || len(p.report.GPUs) >= mostEvents {
		return
	}
	var g GPU
	to := map[string]*string{"gpu_uuid": &g.UUID, "gpu_name": &g.Name, "compute_cap": &g.Compute,
		"persistence_mode": &g.Persistence}
	for _, m := range gpu.FindAllStringSubmatch(text, -1) {
		*to[m[1]] = m[2]
	}
	if g.UUID != "" {
		p.report.GPUs = append(p.report.GPUs, g)
	}
}

// sleep reads the lines about sleep mode: the freed memory, and then the duration.
func (p *parser) sleep(text string, at time.Time, hasTime bool) {
	if i := markEnd(text, []string{"Sleep mode freed"}); i >= 0 {
		rest := measured(text[i:])
		p.pending.Freed = rest.gib()
		p.pending.InUse = rest.after("memory,")
	}
	for kind, mark := range map[string]string{"sleep": "seconds to fall asleep", "wake": "seconds to wake up"} {
		end := strings.Index(text, mark)
		if end < 0 || len(p.report.Sleeps) >= mostEvents {
			continue
		}
		s := Sleep{Type: kind}
		if hasTime {
			s.At = &at
		}
		if i := strings.LastIndex(text[:end], "took"); i >= 0 {
			s.Time = measured(text[i:]).seconds()
		}
		if kind == "sleep" {
			s.Freed, s.InUse, p.pending = p.pending.Freed, p.pending.InUse, Sleep{}
		}
		p.report.Sleeps = append(p.report.Sleeps, s)
	}
}

func bounded(s string) string { return s[:min(len(s), 4096)] }

// measured is the end of a line, behind a mark. Its numbers are identified by their units, because other numbers may
// precede.
type measured string

var (
	inSeconds = regexp.MustCompile(`(\d+(?:\.\d+)?)\s*(?:s\b|sec\b|seconds?\b)`)
	inGiB     = regexp.MustCompile(`(\d+(?:\.\d+)?)\s*(GiB|GB|MiB|MB|TiB)\b`)
	anyNumber = regexp.MustCompile(`\d+(?:\.\d+)?`)
)

func (m measured) seconds() float64 { return numberOf(inSeconds.FindStringSubmatch(string(m))) }

// gib reads an amount of memory. The servers write GB where they divide by 2^30 (docs/reference/nop.md#units).
func (m measured) gib() float64 {
	found := inGiB.FindStringSubmatch(string(m))
	v := numberOf(found)
	if found != nil && found[2][0] == 'M' {
		v /= 1024
	}
	if found != nil && found[2][0] == 'T' {
		v *= 1024
	}
	return v
}

// after reads the first number behind a mark.
func (m measured) after(mark string) float64 {
	_, rest, found := strings.Cut(string(m), mark)
	if !found {
		return 0
	}
	return numberOf([]string{"", anyNumber.FindString(rest)})
}

func numberOf(found []string) float64 {
	if len(found) < 2 {
		return 0
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return 0
	}
	return v
}

func (p *parser) finish() {
	r := p.report
	r.Server = p.server.name
	for _, owner := range p.order {
		one := Process{Name: cmp.Or(owner, "main")}
		if m := process.FindStringSubmatch(owner); m != nil {
			one.Name = m[1]
			one.PID, _ = strconv.Atoi(m[2])
		}
		if one.Categories = categorize(p.lines[owner], p.server.categories); len(one.Categories) > 0 {
			r.Processes = append(r.Processes, one)
		}
	}
	if l := &r.Engine.Load; l.Time == 0 {
		l.Time = longest(r.Processes, "Model Loading")
	}
	if l := &r.Engine.Load; l.Time > 0 {
		l.Rate = l.Size / l.Time
	}
	if r.Ready == nil {
		r.Notes = append(r.Notes, "the log does not show that the server became ready")
	}
	if len(r.Processes) == 0 || r.Server == "vllm" && !hasCategory(r.Processes, "Model Loading") {
		r.Notes = append(r.Notes, "categories are missing: start vLLM with VLLM_LOGGING_LEVEL=DEBUG")
	}
}

// longest returns the seconds of the longest category of a title.
func longest(list []Process, title string) (most float64) {
	for _, p := range list {
		for _, c := range p.Categories {
			if c.Title == title {
				most = max(most, c.Elapsed)
			}
		}
	}
	return most
}

func hasCategory(list []Process, title string) bool {
	return slices.ContainsFunc(list, func(p Process) bool {
		return slices.ContainsFunc(p.Categories, func(c Category) bool { return c.Title == title })
	})
}

// span is a category that was found: the times of its first and last line.
type span struct {
	title    string
	from, to time.Time
	below    []Category
}

// spans finds a category in the lines of one process.
func (c *category) spans(lines []line) (found []span) {
	for {
		first := slices.IndexFunc(lines, func(l line) bool { return containsAny(l.text, c.starts) })
		if first < 0 {
			return found
		}
		n := -1
		for _, ends := range [][]string{c.ends, c.instead} {
			if n < 0 {
				n = slices.IndexFunc(lines[first:], func(l line) bool {
					return !l.at.Before(lines[first].at) && containsAny(l.text, ends)
				})
			}
		}
		if n < 0 {
			return found
		}
		end := first + n
		for i := first + 1; c.late && i < end; i++ {
			if containsAny(lines[i].text, c.starts) {
				first = i
			}
		}
		found = append(found, span{c.title, lines[first].at, lines[end].at, categorize(lines[first:end+1], c.below)})
		if lines = lines[end:]; !c.repeats || n == 0 {
			return found
		}
	}
}

// categorize finds the categories in the lines of one process and fills the gaps between them.
func categorize(lines []line, list []category) []Category {
	var spans []span
	for _, c := range list {
		spans = append(spans, c.spans(lines)...)
	}
	ordering.Sort(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var out []Category
	var reached time.Time
	for i, s := range spans {
		if i > 0 && s.from.After(reached) {
			out = append(out, Category{Title: Uncategorized, Elapsed: s.from.Sub(reached).Seconds()})
		}
		from := s.from
		if i > 0 && from.Before(reached) {
			from = reached // overlapping categories would count time twice
		}
		if s.to.Before(from) {
			s.to = from
		}
		out = append(out, Category{s.title, s.to.Sub(from).Seconds(), s.below})
		reached = s.to
	}
	return out
}
