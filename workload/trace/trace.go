package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Bounds of a trace.
const (
	mostRows    = 20_000_000
	longestLine = 4 << 20
	mostTokens  = 1 << 28
	mostBlocks  = 1 << 27 // of all rows
)

// Trace is a recorded load. All slices but Blocks have one item for each row, in the order of time.
type Trace struct {
	TimesNS []int64 // after the first row
	Input   []int32 // tokens; 0: unknown
	Output  []int32

	// Blocks are ids of consecutive prefix blocks of all rows; those of row i are Blocks[Starts[i]:Starts[i+1]]. Equal
	// ids are equal contents. Starts is nil where the format has none.
	Blocks      []uint32
	Starts      []uint32
	BlockTokens int // tokens of a block
}

// Len returns the number of rows.
func (t *Trace) Len() int { return len(t.TimesNS) }

// BlocksOf returns the ids of the prefix blocks of a row.
func (t *Trace) BlocksOf(row int) []uint32 {
	if t.Starts == nil {
		return nil
	}
	return t.Blocks[t.Starts[row]:t.Starts[row+1]]
}

// row is one line of a trace.
type row struct {
	seconds       float64
	input, output int
	blocks        []uint32
}

// format reads the lines of one kind of trace.
type format struct {
	heading bool // the first line names the columns
	parse   func(columns map[string]int, line []byte) (row, error)
	block   int
}

var formats = map[string]format{
	"azure":    {true, parseAzure, 0},
	"burstgpt": {true, parseBurst, 0},
	"mooncake": {false, parseMooncake, 512}, // tokens of a block (kvcache-ai/Mooncake, FAST25-release)
	"jsonl":    {false, parseLine, 0},
}

// Read reads a trace. Its times are multiplied by the file's scale.
func Read(f *profile.TraceFile) (*Trace, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the trace: %w", err)
	}
	defer file.Close()
	return Parse(f, file)
}

// Parse is Read for a reader. The path of f appears in errors.
func Parse(f *profile.TraceFile, r io.Reader) (*Trace, error) {
	form, ok := formats[f.Format]
	if !ok {
		return nil, fmt.Errorf("trace %s: no reader for format %q", f.Path, f.Format)
	}
	t := &Trace{BlockTokens: form.block}
	b := builder{t: t}
	var columns map[string]int
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), longestLine)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(line) == 0 {
			continue
		}
		if form.heading && columns == nil {
			var isHeading bool
			if columns, isHeading = heading(line); isHeading {
				continue
			}
		}
		one, err := form.parse(columns, line)
		if err == nil {
			err = b.add(one)
		}
		if err != nil {
			return nil, fmt.Errorf("trace %s line %d: %w", f.Path, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("trace %s: %w", f.Path, err)
	}
	if t.Len() == 0 {
		return nil, fmt.Errorf("trace %s has no rows", f.Path)
	}
	b.finish(f.Scale)
	return t, nil
}

type builder struct {
	t      *Trace
	first  float64
	sorted bool
}

// add appends a row. Times are held as offsets from the first row, which keeps nanoseconds exact.
func (b *builder) add(r row) error {
	t := b.t
	if t.Len() == 0 {
		b.first, b.sorted = r.seconds, true
	}
	offset := r.seconds - b.first
	switch {
	case t.Len() >= mostRows:
		return fmt.Errorf("the trace has more than %d rows", mostRows)
	case !(math.Abs(offset) < (366 * 24 * time.Hour).Seconds()):
		return fmt.Errorf("the time %g s is more than a year from the first row", r.seconds)
	case r.input < 0 || r.input > mostTokens || r.output < 0 || r.output > mostTokens:
		return fmt.Errorf("expected from 0 to %d tokens, not %d and %d", mostTokens, r.input, r.output)
	case len(t.Blocks)+len(r.blocks) > mostBlocks:
		return fmt.Errorf("the trace has more than %d prefix blocks", mostBlocks)
	}
	ns := int64(math.Round(offset * 1e9))
	if n := t.Len(); n > 0 && ns < t.TimesNS[n-1] {
		b.sorted = false
	}
	t.TimesNS = append(t.TimesNS, ns)
	t.Input, t.Output = append(t.Input, int32(r.input)), append(t.Output, int32(r.output))
	if t.BlockTokens > 0 {
		t.Starts = append(t.Starts, uint32(len(t.Blocks)))
		t.Blocks = append(t.Blocks, r.blocks...)
	}
	return nil
}

// finish sorts the rows by time and scales the times.
func (b *builder) finish(scale float64) {
	t := b.t
	if t.Starts != nil {
		t.Starts = append(t.Starts, uint32(len(t.Blocks)))
	}
	if !b.sorted {
		t.sort()
	}
	start := t.TimesNS[0]
	for i := range t.TimesNS {
		t.TimesNS[i] -= start
		if scale > 0 {
			t.TimesNS[i] = int64(min(float64(t.TimesNS[i])*scale, 1<<62))
		}
	}
}

// sort orders the rows by time; rows of one time keep their order.
func (t *Trace) sort() {
	order := make([]int32, t.Len())
	for i := range order {
		order[i] = int32(i)
	}
	sort.SliceStable(order, func(a, b int) bool { return t.TimesNS[order[a]] < t.TimesNS[order[b]] })
	if t.Starts != nil {
		blocks, starts := make([]uint32, 0, len(t.Blocks)), make([]uint32, 0, len(t.Starts))
		for _, row := range order {
			starts = append(starts, uint32(len(blocks)))
			blocks = append(blocks, t.BlocksOf(int(row))...)
		}
		t.Blocks, t.Starts = blocks, append(starts, uint32(len(blocks)))
	}
	t.TimesNS = permuted(t.TimesNS, order)
	t.Input, t.Output = permuted(t.Input, order), permuted(t.Output, order)
}

func permuted[T any](values []T, order []int32) []T {
	out := make([]T, len(values))
	for i, row := range order {
		out[i] = values[row]
	}
	return out
}

// heading returns the positions of columns by name, and whether a line names them. Files without a heading have the
// columns time, input and output.
func heading(line []byte) (map[string]int, bool) {
	names := strings.Split(strings.ToLower(string(line)), ",")
	columns := map[string]int{}
	for i, name := range names {
		columns[strings.Trim(strings.TrimSpace(name), `"`)] = i
	}
	if _, err := timeOf(names[0]); err == nil {
		return map[string]int{}, false
	}
	return columns, true
}

// cells returns the columns of a CSV line by name, or by position where the file names none.
func cells(columns map[string]int, line []byte, names ...[]string) ([]string, error) {
	all := strings.Split(string(line), ",")
	values := make([]string, len(names))
	for i, spellings := range names {
		at := i
		if len(columns) > 0 {
			k := slices.IndexFunc(spellings, func(s string) bool { _, ok := columns[s]; return ok })
			if k < 0 {
				return nil, fmt.Errorf("the heading lacks the column %s", spellings[0])
			}
			at = columns[spellings[k]]
		}
		if at >= len(all) {
			return nil, fmt.Errorf("expected %d columns, not %d", at+1, len(all))
		}
		values[i] = strings.Trim(strings.TrimSpace(all[at]), `"`)
	}
	return values, nil
}

func csvRow(columns map[string]int, line []byte, names ...[]string) (r row, err error) {
	values, err := cells(columns, line, names...)
	if err != nil {
		return r, err
	}
	if r.seconds, err = timeOf(values[0]); err != nil {
		return r, err
	}
	for i, to := range []*int{&r.input, &r.output} {
		n, err := strconv.Atoi(values[i+1])
		if err != nil {
			return r, fmt.Errorf("column %s: expected a whole number of tokens, not %.40q", names[i+1][0], values[i+1])
		}
		*to = n
	}
	return r, nil
}

// parseAzure reads AzurePublicDataset's LLM inference traces.
func parseAzure(columns map[string]int, line []byte) (row, error) {
	return csvRow(columns, line, []string{"timestamp"}, []string{"contexttokens", "input_tokens"},
		[]string{"generatedtokens", "output_tokens"})
}

// parseBurst reads HPMLL/BurstGPT's files.
func parseBurst(columns map[string]int, line []byte) (row, error) {
	return csvRow(columns, line, []string{"timestamp"}, []string{"request tokens"}, []string{"response tokens"})
}

// times are the forms of a time that is not a number.
var times = []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05-07:00", "2006-01-02T15:04:05", time.RFC3339}

// timeOf returns seconds.
func timeOf(text string) (float64, error) {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) {
		return v, nil
	}
	for _, form := range times {
		if at, err := time.Parse(form, text); err == nil {
			return float64(at.Unix()) + float64(at.Nanosecond())/1e9, nil
		}
	}
	return 0, fmt.Errorf("expected seconds or a time such as 2023-11-16 18:15:46.68, not %.40q", text)
}

// parseMooncake reads Mooncake's lines: milliseconds, lengths and ids of prefix blocks.
func parseMooncake(_ map[string]int, line []byte) (row, error) {
	var l struct {
		Timestamp *float64 `json:"timestamp"`
		Input     int      `json:"input_length"`
		Output    int      `json:"output_length"`
		Hashes    []uint32 `json:"hash_ids"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return row{}, fmt.Errorf("expected an object with timestamp, input_length, output_length and hash_ids: %w", err)
	}
	if l.Timestamp == nil {
		return row{}, fmt.Errorf("the object lacks timestamp")
	}
	return row{*l.Timestamp / 1000, l.Input, l.Output, l.Hashes}, nil
}

// parseLine reads this program's own form: {"seconds": 1.5, "input": 100, "output": 20}.
func parseLine(_ map[string]int, line []byte) (row, error) {
	var l struct {
		Seconds   *float64 `json:"seconds"`
		Timestamp *float64 `json:"timestamp"` // another name of it
		Input     int      `json:"input"`
		Output    int      `json:"output"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return row{}, fmt.Errorf("expected an object with seconds, input and output: %w", err)
	}
	if l.Seconds == nil {
		l.Seconds = l.Timestamp
	}
	if l.Seconds == nil {
		return row{}, fmt.Errorf("the object lacks seconds")
	}
	return row{*l.Seconds, l.Input, l.Output, nil}, nil
}
