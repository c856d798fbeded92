package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Bounds of a trace.
const (
	mostRows    = 20_000_000
	longestLine = 4 << 20
	mostTokens  = 1 << 28
	mostBlocks  = 1 << 29 // bytes of the prefix blocks of all rows, as they are held
)

// Trace is a recorded load. Its slices have one item for each row, in the order of time.
type Trace struct {
	TimesNS []int64 // after the first row
	Input   []int32 // tokens; 0: unknown
	Output  []int32

	BlockTokens int // tokens of a prefix block; 0: the format has none

	form              *format
	noInput, noOutput int // first line without that length; 0: all have it

	// The prefix blocks of the rows in the order of the file: runs of consecutive ids, each the difference of its first
	// id to the end of the run before, and its length. The runs of row i begin at starts[i].
	blocks []byte
	starts []uint32
	lines  []int32 // position in the file of each row; nil: the order is the same
}

// Len returns the number of rows.
func (t *Trace) Len() int { return len(t.TimesNS) }

// BlocksOf appends the ids of the consecutive prefix blocks of a row to dst. Equal ids are equal contents.
func (t *Trace) BlocksOf(dst []uint32, row int) []uint32 {
	if t.starts == nil {
		return dst
	}
	if t.lines != nil {
		row = int(t.lines[row])
	}
	last := int64(0)
	for runs := t.blocks[t.starts[row]:t.starts[row+1]]; len(runs) > 0; {
		step, n := binary.Varint(runs)
		length, m := binary.Uvarint(runs[n:])
		runs, last = runs[n+m:], last+step
		for range length {
			dst = append(dst, uint32(last))
			last++
		}
	}
	return dst
}

// appendBlocks appends the runs of ids.
func appendBlocks(dst []byte, ids []uint32) []byte {
	last := int64(0)
	for at := 0; at < len(ids); {
		end := at + 1
		for end < len(ids) && int64(ids[end]) == int64(ids[end-1])+1 {
			end++
		}
		dst = binary.AppendVarint(dst, int64(ids[at])-last)
		dst = binary.AppendUvarint(dst, uint64(end-at))
		last, at = int64(ids[end-1])+1, end
	}
	return dst
}

// Read reads a trace. Its times are multiplied by the file's scale.
func Read(f *profile.TraceFile) (*Trace, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		if f.Format != ownForm {
			err = fmt.Errorf("%w; `mlperf-go dataset get %s` shows where public traces come from", err, f.Format)
		}
		return nil, fmt.Errorf("cannot read the trace: %w", err)
	}
	defer file.Close()
	size := int64(0)
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return parse(f, file, size)
}

// Parse is Read for a reader. The path of f appears in errors.
func Parse(f *profile.TraceFile, r io.Reader) (*Trace, error) { return parse(f, r, 0) }

// parse reads a trace of some bytes; 0: unknown. Lines are parsed without an allocation.
func parse(f *profile.TraceFile, r io.Reader, size int64) (*Trace, error) {
	form, ok := formats[f.Format]
	if !ok {
		return nil, fmt.Errorf("trace %s: no reader for format %q", f.Path, f.Format)
	}
	t := &Trace{BlockTokens: form.block, form: form}
	b, p := builder{t: t, size: size}, parser{format: form}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), longestLine)
	for n := 1; lines.Scan(); n++ {
		b.read += int64(len(lines.Bytes())) + 1
		line := bytes.TrimSpace(lines.Bytes())
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			if what, remedy := foreign.Kind(line); what != "" {
				return nil, fmt.Errorf("trace %s: found %s, expected a trace of format %s; %s", f.Path, what, f.Format, remedy)
			}
		}
		if len(line) == 0 {
			continue
		}
		isHeading, err := p.isHeading(line)
		if err == nil && !isHeading {
			if err = p.parse(line); err == nil {
				err = b.add(&p.row)
				t.note(&p.row, n)
			}
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

// note remembers the first lines that lack a length.
func (t *Trace) note(r *row, line int) {
	if !r.hasInput && t.noInput == 0 {
		t.noInput = line
	}
	if !r.hasOutput && t.noOutput == 0 {
		t.noOutput = line
	}
}

// CheckLengths rejects a trace as the lengths of requests if a line lacks them: the arrivals alone need only times.
// Lengths of answers are not needed if needsOutput is false.
func (t *Trace) CheckLengths(f *profile.TraceFile, needsOutput bool) error {
	switch {
	case t.noInput > 0:
		return fmt.Errorf("trace %s line %d: the object lacks %s", f.Path, t.noInput, t.form.members.input)
	case t.noOutput > 0 && needsOutput:
		return fmt.Errorf("trace %s line %d: the object lacks %s; add it, or set data.output", f.Path, t.noOutput,
			t.form.members.output)
	}
	return nil
}

type builder struct {
	t          *Trace
	size, read int64 // bytes of the file, and so far
	first      float64
	sorted     bool
}

// add appends a row. It stores times as offsets from the first row, which keeps nanoseconds exact.
func (b *builder) add(r *row) error {
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
	}
	ns := int64(math.Round(offset * 1e9))
	if n := t.Len(); n > 0 && ns < t.TimesNS[n-1] {
		b.sorted = false
	}
	if t.Len() == estimateAt {
		b.reserve()
	}
	t.TimesNS = append(t.TimesNS, ns)
	t.Input, t.Output = append(t.Input, int32(r.input)), append(t.Output, int32(r.output))
	if t.BlockTokens > 0 {
		t.starts = append(t.starts, uint32(len(t.blocks)))
		t.blocks = appendBlocks(t.blocks, r.blocks)
		if len(t.blocks) > mostBlocks {
			return fmt.Errorf("the prefix blocks of the trace need more than %d MiB", mostBlocks>>20)
		}
	}
	return nil
}

// estimateAt is the number of rows after which the file's length is used to estimate their total.
const estimateAt = 1 << 16

// reserve makes room for the whole trace, as far as its length is known, because slices that grow by copying would need
// twice the memory. Room that is never written needs no memory.
func (b *builder) reserve() {
	t := b.t
	if b.size <= b.read {
		return
	}
	factor := 1.05 * float64(b.size) / float64(b.read)
	rows := min(int(factor*estimateAt), mostRows) - estimateAt
	t.TimesNS, t.Input, t.Output = slices.Grow(t.TimesNS, rows), slices.Grow(t.Input, rows), slices.Grow(t.Output, rows)
	if t.BlockTokens > 0 {
		t.starts = slices.Grow(t.starts, rows+1)
		t.blocks = slices.Grow(t.blocks, min(int(factor*float64(len(t.blocks))), mostBlocks)-len(t.blocks))
	}
}

// finish sorts the rows by time and scales the times.
func (b *builder) finish(scale float64) {
	t := b.t
	if t.starts != nil {
		t.starts = append(t.starts, uint32(len(t.blocks)))
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

// sort orders the rows by time; rows with equal times keep their order. It needs 4 additional bytes for each row.
func (t *Trace) sort() {
	order := make([]int32, t.Len())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.TimesNS[a], t.TimesNS[b]), cmp.Compare(a, b))
	})
	// Each cycle of the permutation moves its rows by one place. The complement marks finished places.
	for first := range order {
		if order[first] < 0 {
			continue
		}
		ns, in, out := t.TimesNS[first], t.Input[first], t.Output[first]
		at := first
		for {
			from := int(order[at])
			order[at] = ^order[at]
			if from == first {
				break
			}
			t.TimesNS[at], t.Input[at], t.Output[at] = t.TimesNS[from], t.Input[from], t.Output[from]
			at = from
		}
		t.TimesNS[at], t.Input[at], t.Output[at] = ns, in, out
	}
	if t.starts == nil {
		return
	}
	for i := range order {
		order[i] = ^order[i]
	}
	t.lines = order
}
