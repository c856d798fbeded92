package series

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/metrics/exposition"
)

// Bounds of Read. A file may come from another machine.
const (
	maxLine   = 64 << 20 // bytes
	maxValues = 64 << 20 // of kept series; 512 MB
	maxTarget = 4096
	maxSeries = 4 << 20
)

// Set is the content of a file, or of the part that the caller kept.
type Set struct {
	Header
	Scrapes []Scrapes // by target
	Series  []*Series // in the file's order
	Torn    bool      // the file ends in the middle: its run was killed
}

// Scrapes are the attempts to read one target.
type Scrapes struct {
	TimesS []float64 // since Header.Started
	Errors []string  // by attempt; "" if it succeeded
}

// Failed returns the number of failed scrapes, and the text of the first failure.
func (s *Scrapes) Failed() (n int, first string) {
	for _, text := range s.Errors {
		if text != "" {
			n++
			if first == "" {
				first = text
			}
		}
	}
	return n, first
}

// Series is one time series of a target. Values[i] was read at the target's TimesS[i]; NaN is absent.
type Series struct {
	exposition.Series
	Target int
	Values []float64

	carried float64
}

// Read reads a file. keep selects series by their description; nil keeps all. A file whose end is missing is read as
// far as it goes, and Torn. So is the unfinished file of a killed run if path does not exist.
func Read(path string, keep func(*Series) bool) (*Set, error) {
	left := atomicfile.Left(path)
	if left != "" {
		path = left
	}
	file, err := atomicfile.OpenLines(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	set, err := read(file, keep)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics in %s: %w", path, err)
	}
	set.Torn = set.Torn || left != ""
	return set, nil
}

func read(from io.Reader, keep func(*Series) bool) (*Set, error) {
	r := &reader{set: &Set{}, keep: keep, ids: map[int64]*Series{}, left: maxValues, series: maxSeries}
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	number := 0
	for lines.Scan() {
		number++
		err := r.line(number, lines.Bytes())
		if err != nil && number > 1 && lines.Err() != nil {
			break // a part of a line, at which the compressed stream ends
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d has more than %d bytes", number+1, maxLine)
	case err != nil && number > 0: // the compressed stream has no end
		r.set.Torn = true
	case err != nil:
		return nil, err
	case number == 0:
		return nil, errors.New("it is empty")
	}
	return r.set, nil
}

// reader builds a Set from lines.
type reader struct {
	set      *Set
	keep     func(*Series) bool
	ids      map[int64]*Series // nil for a series that is not kept
	byTarget [][]*Series
	left     int // number of values that may follow
	series   int // most series
}

// line reads one line. The Recorder writes the key that distinguishes lines first.
func (r *reader) line(number int, text []byte) error {
	switch {
	case number == 1:
		return r.header(text)
	case bytes.HasPrefix(text, []byte(`{"series":`)):
		return r.introduce(text)
	case bytes.HasPrefix(text, []byte(`{"block":`)):
		return r.block(text)
	}
	return errors.New(`it begins with neither "series" nor "block"`)
}

func (r *reader) header(text []byte) error {
	if err := json.Unmarshal(text, &r.set.Header); err != nil {
		return fmt.Errorf("it is not a JSON object: %w", err)
	}
	if r.set.Schema != Schema {
		return fmt.Errorf("its schema is %s, not %s", foreign.Line(strconv.Quote(r.set.Schema), 80), Schema)
	}
	if len(r.set.Targets) > maxTarget {
		return fmt.Errorf("it has %d targets; at most %d are read", len(r.set.Targets), maxTarget)
	}
	r.set.Scrapes = make([]Scrapes, len(r.set.Targets))
	r.byTarget = make([][]*Series, len(r.set.Targets))
	return nil
}

func (r *reader) introduce(text []byte) error {
	var line seriesLine
	if err := json.Unmarshal(text, &line); err != nil {
		return fmt.Errorf("the description of a series is malformed: %w", err)
	}
	if _, known := r.ids[line.ID]; known || line.Target < 0 || line.Target >= len(r.set.Targets) {
		return fmt.Errorf("series %d of target %d is a repetition, or the target is not in the first line", line.ID,
			line.Target)
	}
	if len(r.ids) >= r.series {
		return fmt.Errorf("it has more than %d series", r.series)
	}
	family := line.Family
	if family == "" {
		family = line.Name
	}
	s := &Series{Target: line.Target, carried: math.NaN(),
		Series: exposition.Series{Name: line.Name, Family: family, Kind: line.Kind, Labels: line.Labels}}
	if r.keep != nil && !r.keep(s) {
		r.ids[line.ID] = nil
		return nil
	}
	r.ids[line.ID] = s
	r.set.Series = append(r.set.Series, s)
	r.byTarget[s.Target] = append(r.byTarget[s.Target], s)
	return nil
}

func (r *reader) block(text []byte) error {
	var b block
	if err := json.Unmarshal(text, &b); err != nil {
		return fmt.Errorf("the block is malformed: %w", err)
	}
	n := len(b.TimesMS)
	switch {
	case b.Target < 0 || b.Target >= len(r.set.Targets):
		return fmt.Errorf("target %d is not in the first line", b.Target)
	case b.Errors != nil && len(b.Errors) != n:
		return fmt.Errorf("%d scrapes have %d errors", n, len(b.Errors))
	case b.Errors == nil:
		b.Errors = make([]string, n)
	}
	columns := map[*Series][]optional{}
	for id, values := range b.Values {
		s, known := r.ids[id]
		if !known || len(values) != n || s != nil && s.Target != b.Target {
			return fmt.Errorf("series %d is unknown, belongs to another target, or has %d values for %d scrapes", id,
				len(values), n)
		}
		columns[s] = values
	}
	kept := r.byTarget[b.Target]
	if r.left -= n * (len(kept) + 1); r.left < 0 {
		return fmt.Errorf("it has more than %d values; select fewer series", maxValues)
	}
	scrapes := &r.set.Scrapes[b.Target]
	before := len(scrapes.TimesS)
	for _, at := range b.TimesMS {
		scrapes.TimesS = append(scrapes.TimesS, float64(at)/1000)
	}
	scrapes.Errors = append(scrapes.Errors, b.Errors...)
	for _, s := range kept {
		s.append(before, b.Errors, columns[s])
	}
	return nil
}

// append adds a block. If the block has no column, each successful scrape returned the value before it.
func (s *Series) append(before int, errors []string, column []optional) {
	for len(s.Values) < before { // scrapes before the series appeared
		s.Values = append(s.Values, math.NaN())
	}
	for i, text := range errors {
		v := math.NaN()
		if text == "" {
			if column != nil {
				s.carried = float64(column[i])
			}
			v = s.carried
		}
		s.Values = append(s.Values, v)
	}
}
