package exposition

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Kind is the type that a page declares for a family of series.
type Kind string

// The kinds of Prometheus' text format. Series without a "# TYPE" line are Untyped.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
	Summary   Kind = "summary"
	Untyped   Kind = "untyped"
)

// Bounds of what a page may contain. vLLM's page has about 1,000 series in 150 KB.
const (
	MaxSeries = 200_000
	MaxLine   = 64 << 10 // bytes
)

// Series describes one time series of a page.
type Series struct {
	Name   string            // as on the page: a histogram x also has x_bucket, x_sum and x_count
	Family string            // the name in the "# TYPE" line
	Kind   Kind              // of the family
	Labels map[string]string // nil: no labels
}

// Cumulative reports whether the values of the series only grow until its server restarts.
func (s *Series) Cumulative() bool {
	switch s.Kind {
	case Counter, Histogram:
		return true
	case Summary:
		return s.Name != s.Family // x_sum and x_count; x itself contains quantiles
	}
	return false
}

// Parser reads the pages of one server, one after the other. It has one owner.
type Parser struct {
	ids    map[string]int // text of a series before its value -> index
	same   map[string]int // key of a series -> index
	series []Series
	places []place         // by the line's number
	kinds  map[string]Kind // family -> kind, as the pages so far declared it last
	values []float64
}

// place is a line's series, or a "# TYPE" line.
type place struct {
	text string // the line up to the value
	id   int
}

// NewParser returns a parser that has seen no page.
func NewParser() *Parser {
	return &Parser{ids: map[string]int{}, same: map[string]int{}, kinds: map[string]Kind{}}
}

// Series returns every series that the pages so far contained, in the order of their first appearance.
func (p *Parser) Series() []Series { return p.series }

// Parse reads a page. The value at index i belongs to series i; NaN means that the page lacks the series. The slice is
// valid until the next call. An error names the first line that is not in the format; nothing of such a page counts.
func (p *Parser) Parse(page []byte) ([]float64, error) {
	for i := range p.values {
		p.values[i] = math.NaN()
	}
	for number := 1; len(page) > 0; number++ {
		line, rest, _ := bytes.Cut(page, []byte{'\n'})
		page = rest
		if err := p.line(number, bytes.TrimRight(line, " \t\r")); err != nil {
			return nil, fmt.Errorf("line %d of the metrics page: %w", number, err)
		}
	}
	return p.values, nil
}

func (p *Parser) line(number int, line []byte) error {
	switch {
	case len(line) == 0:
		return nil
	case len(line) > MaxLine:
		return fmt.Errorf("it has %d bytes; at most %d are read", len(line), MaxLine)
	case line[0] == '#':
		p.comment(number, line)
		return nil
	}
	at := p.placed(number, line)
	if at == nil {
		end := seriesEnd(line)
		if end < 0 {
			return errors.New("no value follows the name and the labels")
		}
		var err error
		if at, err = p.place(number, string(line[:end])); err != nil {
			return err
		}
	}
	digits, _, _ := bytes.Cut(bytes.TrimLeft(line[len(at.text):], " \t"), []byte{' '}) // a time stamp may follow
	value, err := strconv.ParseFloat(string(digits), 64)
	if err != nil {
		return fmt.Errorf("the value %.40q is not a number", digits)
	}
	p.values[at.id] = value
	return nil
}

// placed returns the series that the line with this number contained last time, if it still does. Servers write their
// series in the same order, so this avoids most look-ups.
func (p *Parser) placed(number int, line []byte) *place {
	if number >= len(p.places) {
		return nil
	}
	at := &p.places[number]
	n := len(at.text)
	if n == 0 || n >= len(line) || line[n] != ' ' || string(line[:n]) != at.text ||
		bytes.HasPrefix(line[n:], []byte(" {")) {
		return nil
	}
	return at
}

// place records which series a line contains, and adds a new one.
func (p *Parser) place(number int, text string) (*place, error) {
	id, known := p.ids[text]
	if !known {
		var err error
		if id, err = p.add(text); err != nil {
			return nil, err
		}
	}
	return p.keep(number, place{text, id}), nil
}

// keep records what a line contains, for the next page.
func (p *Parser) keep(number int, at place) *place {
	if number >= MaxSeries {
		return &at
	}
	p.places = append(p.places, make([]place, max(0, number+1-len(p.places)))...)
	p.places[number] = at
	return &p.places[number]
}

// comment records the kind that a "# TYPE name kind" line declares. Other comments are ignored.
func (p *Parser) comment(number int, line []byte) {
	if !bytes.HasPrefix(line, []byte("# TYPE ")) ||
		number < len(p.places) && p.places[number].text == string(line) {
		return
	}
	p.keep(number, place{text: string(line)})
	name, kind, _ := strings.Cut(string(line[len("# TYPE "):]), " ")
	switch k := Kind(strings.TrimSpace(kind)); k {
	case Counter, Gauge, Histogram, Summary:
		p.kinds[name] = k
	default:
		p.kinds[name] = Untyped
	}
}

// seriesEnd returns the length of the name with its labels, or -1 if nothing follows them.
func seriesEnd(line []byte) int {
	end := bytes.IndexAny(line, " \t{")
	if end <= 0 {
		return -1
	}
	blank := end
	for blank < len(line) && (line[blank] == ' ' || line[blank] == '\t') {
		blank++ // before the labels or the value
	}
	if blank < len(line) && line[blank] == '{' {
		end = blank + labelsEnd(line[blank:])
	}
	if end <= 0 || end >= len(line) {
		return -1
	}
	return end
}

// labelsEnd returns the length of a label set in braces, or less than 0 if it has no end. Values may contain braces.
func labelsEnd(text []byte) int {
	for i, quoted := 0, false; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i + 1
		}
	}
	return -MaxLine
}

// add reads the name and the labels of a new series.
func (p *Parser) add(text string) (int, error) {
	if len(p.ids) >= MaxSeries {
		return 0, fmt.Errorf("the server has more than %d series", MaxSeries)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text + " 0\n"))
	if err != nil {
		return 0, fmt.Errorf("the series %.80q is malformed", text)
	}
	s := Series{}
	for name, family := range families { // one
		s.Name, s.Labels = name, labels(family)
	}
	s.Family, s.Kind = p.family(s.Name)
	id, known := p.same[s.key()] // with its labels in another order
	if !known {
		id = len(p.series)
		p.same[s.key()] = id
		p.series = append(p.series, s)
		p.values = append(p.values, math.NaN())
	}
	p.ids[text] = id
	return id, nil
}

// key returns a text that is the same for equal series only.
func (s *Series) key() string {
	var b strings.Builder
	b.WriteString(s.Name)
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		fmt.Fprintf(&b, "\x00%s\x00%s", name, s.Labels[name])
	}
	return b.String()
}

func labels(family *dto.MetricFamily) map[string]string {
	if len(family.Metric) == 0 || len(family.Metric[0].Label) == 0 {
		return nil
	}
	m := make(map[string]string, len(family.Metric[0].Label))
	for _, pair := range family.Metric[0].Label {
		m[pair.GetName()] = pair.GetValue()
	}
	return m
}

// family returns the declared family of a series, and its kind.
func (p *Parser) family(name string) (string, Kind) {
	if kind, ok := p.kinds[name]; ok {
		return name, kind
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		base, ok := strings.CutSuffix(name, suffix)
		if kind := p.kinds[base]; ok && (kind == Histogram || kind == Summary) {
			return base, kind
		}
	}
	return name, Untyped
}
