package trace

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one line of a trace.
type row struct {
	seconds       float64
	input, output int
	blocks        []uint32
	// hasInput and hasOutput are set if the line has these lengths.
	hasInput, hasOutput bool
}

// format is one kind of trace.
type format struct {
	columns [][]string // of CSV: the spellings of time, input and output
	members *members   // of JSON lines
	slow    func(line []byte) (row, error)
	block   int // tokens of a prefix block
}

// ownForm is the name of this program's own form.
const ownForm = "jsonl"

var formats = map[string]*format{
	// AzurePublicDataset's LLM inference traces
	"azure": {columns: [][]string{{"timestamp"}, {"contexttokens", "input_tokens"},
		{"generatedtokens", "output_tokens"}}},
	// HPMLL/BurstGPT's files
	"burstgpt": {columns: [][]string{{"timestamp"}, {"request tokens"}, {"response tokens"}}},
	// milliseconds; 512 tokens of a block (kvcache-ai/Mooncake, FAST25-release)
	"mooncake": {members: &mooncakeMembers, slow: parseMooncake, block: 512},
	// this program's own form: {"seconds": 1.5, "input": 100, "output": 20}
	ownForm: {members: &ownMembers, slow: parseOwn},
}

// parser reads lines into its row. The row's blocks are valid until the next line.
type parser struct {
	*format
	row     row
	columns map[string]int // of the heading; nil: there was no line yet
	at      [3]int         // positions of time, input and output
	day     []byte         // of the last time stamp
	dayS    float64        // its start, seconds since 1970
}

// isHeading reports whether a line names the columns of a CSV file; only the first line can. Files without a heading
// have the columns time, input and output. A heading that lacks one of them is an error.
func (p *parser) isHeading(line []byte) (bool, error) {
	if p.format.columns == nil || p.columns != nil {
		return false, nil
	}
	p.columns = map[string]int{}
	first, _, _ := bytes.Cut(line, []byte(","))
	if _, err := p.timeOf(bare(first)); err == nil {
		return false, p.findColumns()
	}
	for i, name := range strings.Split(strings.ToLower(string(line)), ",") {
		p.columns[strings.Trim(strings.TrimSpace(name), `"`)] = i
	}
	return true, p.findColumns()
}

func (p *parser) parse(line []byte) (err error) {
	switch {
	case p.members == nil:
		return p.parseCSV(line)
	case !p.quick(line):
		p.row, err = p.slow(line)
	}
	return err
}

// findColumns sets the positions of the columns.
func (p *parser) findColumns() error {
	for i, spellings := range p.format.columns {
		p.at[i] = i
		if len(p.columns) == 0 {
			continue
		}
		k := slices.IndexFunc(spellings, func(s string) bool { _, ok := p.columns[s]; return ok })
		if k < 0 {
			return fmt.Errorf("the heading lacks the column %s", strings.Join(spellings, " or "))
		}
		p.at[i] = p.columns[spellings[k]]
	}
	return nil
}

func (p *parser) parseCSV(line []byte) (err error) {
	var cells [3][]byte
	rest, n, more := line, 0, true
	for last := max(p.at[0], p.at[1], p.at[2]); more && n <= last; n++ {
		var cell []byte
		cell, rest, more = bytes.Cut(rest, []byte(","))
		for i, at := range p.at {
			if at == n {
				cells[i] = bare(cell)
			}
		}
	}
	for i, at := range p.at {
		if at >= n {
			return fmt.Errorf("the line lacks the column %s: expected %d columns, not %d", p.format.columns[i][0], at+1, n)
		}
	}
	p.row.hasInput, p.row.hasOutput = true, true
	if p.row.seconds, err = p.timeOf(cells[0]); err != nil {
		return err
	}
	for i, to := range []*int{&p.row.input, &p.row.output} {
		if *to, err = whole(cells[i+1]); err != nil {
			return fmt.Errorf("column %s: expected a whole number of tokens, not %.40q", p.format.columns[i+1][0], cells[i+1])
		}
	}
	return nil
}

// bare returns a cell without blanks and quotes.
func bare(cell []byte) []byte { return bytes.Trim(bytes.TrimSpace(cell), `"`) }

// whole is strconv.Atoi of bytes.
func whole(text []byte) (int, error) {
	if n, ok := digits(text); ok {
		return int(n), nil
	}
	return strconv.Atoi(string(text))
}

// mostDigits is how many decimal digits a float64 holds exactly.
const mostDigits = 15

// digits returns the value of a text that consists of 1 to 15 digits.
func digits(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > mostDigits {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// powers are exact, and so is the rounding of a quotient of two exact numbers.
var powers = [mostDigits + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// decimal returns the value of a text of digits, which may have a point between two of them. It is the value that
// strconv.ParseFloat returns.
func decimal(text []byte) (v float64, ok bool) {
	point := bytes.IndexByte(text, '.')
	if point < 0 {
		n, ok := digits(text)
		return float64(n), ok
	}
	if len(text) > mostDigits+1 {
		return 0, false
	}
	before, ok1 := digits(text[:point])
	after, ok2 := digits(text[point+1:])
	places := powers[len(text)-point-1]
	return (float64(before)*places + float64(after)) / places, ok1 && ok2
}

// times are the forms of a time that is not a number.
var times = []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05-07:00", "2006-01-02T15:04:05", time.RFC3339}

// timeOf returns seconds.
func (p *parser) timeOf(text []byte) (float64, error) {
	if v, ok := decimal(text); ok {
		return v, nil
	}
	if v, ok := p.stamp(text); ok {
		return v, nil
	}
	return timeOf(string(text))
}

// timeOf is the slow reader, which accepts every form.
func timeOf(text string) (float64, error) {
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

// stamp parses times in the form of Azure's traces: 2023-11-16 18:15:46.6805900.
func (p *parser) stamp(text []byte) (seconds float64, ok bool) {
	const day, clock = len("2006-01-02"), len("15:04:05")
	if len(text) < day+1+clock || text[day] != ' ' {
		return 0, false
	}
	if !bytes.Equal(text[:day], p.day) {
		at, err := time.Parse(time.DateOnly, string(text[:day]))
		if err != nil {
			return 0, false
		}
		p.day, p.dayS = append(p.day[:0], text[:day]...), float64(at.Unix())
	}
	of := text[day+1:]
	hours, ok1 := digits(of[:2])
	minutes, ok2 := digits(of[3:5])
	s, ok3 := digits(of[6:8])
	nanoseconds := int64(0)
	if of = of[clock:]; len(of) > 0 && ok3 {
		n, isNumber := digits(of[1:])
		if of[0] != '.' || !isNumber || len(of) > 10 {
			return 0, false
		}
		nanoseconds = n * int64(powers[10-len(of)])
	}
	ok = ok1 && ok2 && ok3 && text[day+3] == ':' && text[day+6] == ':' && hours < 24 && minutes < 60 && s < 60
	return p.dayS + float64(hours*3600+minutes*60+s) + float64(nanoseconds)/1e9, ok
}
