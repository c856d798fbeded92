package series

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/metrics/exposition"
)

// Schema is the name and the version of the file format.
const Schema = "mlperf-go/metrics/1"

// scrapesPerBlock bounds memory and the loss in a crash: ten scrapes of 1,000 series take 80 KB.
const scrapesPerBlock = 10

// Header is the first line of the file.
type Header struct {
	Schema    string    `json:"schema"`
	Started   time.Time `json:"started"` // zero of every time in the file
	IntervalS float64   `json:"interval_s"`
	Targets   []string  `json:"targets"`
}

// seriesLine introduces a series before the first block that contains it.
type seriesLine struct {
	ID     int64             `json:"series"`
	Target int               `json:"target"`
	Name   string            `json:"name"`
	Family string            `json:"family,omitempty"` // if it differs from the name
	Kind   exposition.Kind   `json:"kind"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Recorder writes the file. Targets may be appended from different goroutines, each target from one at a time.
type Recorder struct {
	lines   *atomicfile.Lines
	started time.Time
	targets []*target
	ids     atomic.Int64 // of the last series
}

// target gathers the scrapes of one block.
type target struct {
	number  int
	timesMS []int64
	errors  []string
	columns []*column
	text    []byte // of the last block
}

// column is one series of a target.
type column struct {
	id      int64
	carried float64    // last value of earlier blocks
	values  []optional // of this block
}

// Create begins the file. started is the zero of its times.
func Create(access atomicfile.Access, path string, started time.Time, interval time.Duration, targets []string) (
	*Recorder, error) {
	lines, err := access.CreateLines(path)
	if err != nil {
		return nil, err
	}
	r := &Recorder{lines: lines, started: started}
	for i := range targets {
		r.targets = append(r.targets, &target{number: i})
	}
	header := Header{Schema: Schema, Started: started.UTC(), IntervalS: interval.Seconds(), Targets: targets}
	if err := lines.Append(header); err != nil {
		lines.Abort()
		return nil, err
	}
	return r, nil
}

// Append adds a scrape of a target: values[i] belongs to known[i], which only grows from call to call. A failed scrape
// has a cause and no values.
func (r *Recorder) Append(number int, at time.Time, known []exposition.Series, values []float64, cause error) error {
	t := r.targets[number]
	for len(t.columns) < len(known) {
		if err := r.introduce(t, &known[len(t.columns)]); err != nil {
			return err
		}
	}
	t.timesMS = append(t.timesMS, at.Sub(r.started).Milliseconds())
	text := ""
	if cause != nil {
		text = cause.Error()
	}
	t.errors = append(t.errors, text)
	for i, c := range t.columns {
		v := math.NaN()
		if cause == nil && i < len(values) && !math.IsInf(values[i], 0) {
			v = values[i]
		}
		c.values = append(c.values, optional(v))
	}
	if len(t.timesMS) < scrapesPerBlock {
		return nil
	}
	return r.write(t)
}

// introduce writes the line of a new series. Its earlier values in this block are absent.
func (r *Recorder) introduce(t *target, s *exposition.Series) error {
	id := r.ids.Add(1)
	line := seriesLine{ID: id, Target: t.number, Name: s.Name, Kind: s.Kind, Labels: s.Labels}
	if s.Family != s.Name {
		line.Family = s.Family
	}
	if err := r.lines.Append(line); err != nil {
		return err
	}
	c := &column{id: id, carried: math.NaN()}
	for range t.timesMS {
		c.values = append(c.values, optional(math.NaN()))
	}
	t.columns = append(t.columns, c)
	return nil
}

// block is a line with the columns of the last scrapes of a target. A series is absent from Values if each scrape
// returned the value before it; null is a scrape without the series.
type block struct {
	Target  int                  `json:"block"`
	TimesMS []int64              `json:"t_ms"`
	Errors  []string             `json:"errors,omitempty"` // by scrape, "" if it succeeded; nil if all did
	Values  map[int64][]optional `json:"values,omitempty"`
}

// optional is a number that is absent if it is NaN. JSON has null for it.
type optional float64

// append writes the shortest text that reads back as the same number.
func (v optional) append(text []byte) []byte {
	f := float64(v)
	switch whole := int64(f); {
	case math.IsNaN(f):
		return append(text, "null"...)
	case float64(whole) == f && whole > -mostWhole && whole < mostWhole && (whole != 0 || !math.Signbit(f)):
		return strconv.AppendInt(text, whole, 10)
	}
	return strconv.AppendFloat(text, f, 'g', -1, 64)
}

// mostWhole is the limit below which counts are written digit by digit: most values of a page are such counts.
const mostWhole = 1_000_000_000

// UnmarshalJSON reads a number or null.
func (v *optional) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*v = optional(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(v))
}

// write writes the gathered scrapes of a target.
func (r *Recorder) write(t *target) error {
	if len(t.timesMS) == 0 {
		return nil
	}
	text, err := t.line()
	if err == nil {
		err = r.lines.AppendRaw(text)
	}
	if err != nil {
		return err
	}
	for _, c := range t.columns {
		c.values = c.values[:0]
	}
	t.timesMS, t.errors = t.timesMS[:0], t.errors[:0]
	return r.lines.Flush()
}

// line returns the block of the gathered scrapes as JSON, and carries the columns. It is valid until the next call.
// encoding/json took a quarter of the work of reading a page.
func (t *target) line() ([]byte, error) {
	head := block{Target: t.number, TimesMS: t.timesMS}
	if slices.ContainsFunc(t.errors, func(text string) bool { return text != "" }) {
		head.Errors = t.errors
	}
	start, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	text := append(t.text[:0], start[:len(start)-1]...)
	text = append(text, `,"values":{`...)
	first := true
	for _, c := range t.columns {
		if !c.carry(t.errors) {
			continue
		}
		if !first {
			text = append(text, ',')
		}
		first = false
		text = c.append(text)
	}
	t.text = append(text, "}}"...)
	return t.text, nil
}

// append writes the column as a member of a block's values.
func (c *column) append(text []byte) []byte {
	text = append(strconv.AppendInt(append(text, '"'), c.id, 10), `":[`...)
	for i, v := range c.values {
		if i > 0 {
			text = append(text, ',')
		}
		text = v.append(text)
	}
	return append(text, ']')
}

// carry keeps the last value of the block, and reports whether any value of the block differs from the one before it.
func (c *column) carry(errors []string) (changed bool) {
	for i, v := range c.values {
		if errors[i] == "" && !same(float64(v), c.carried) {
			c.carried, changed = float64(v), true
		}
	}
	return changed
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// Close writes what is left and completes the file.
func (r *Recorder) Close() error {
	var failed error
	for _, t := range r.targets {
		failed = errors.Join(failed, r.write(t))
	}
	if failed != nil {
		r.lines.Abort()
		return failed
	}
	return r.lines.Close()
}
