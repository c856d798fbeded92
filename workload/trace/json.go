package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// members are the names in a JSON form whose objects quick reads.
type members struct {
	times         []string // of the time; the first one takes precedence
	perSecond     float64  // units of the time
	input, output string
	blocks        string   // empty: the form has none
	all           []string // package json ignores the case of these names
}

var (
	mooncakeMembers = members{[]string{"timestamp"}, 1000, "input_length", "output_length", "hash_ids",
		[]string{"timestamp", "input_length", "output_length", "hash_ids"}}
	ownMembers = members{[]string{"seconds", "timestamp"}, 1, "input", "output", "",
		[]string{"seconds", "timestamp", "input", "output"}}
)

// parseMooncake reads Mooncake's lines: milliseconds, lengths and ids of prefix blocks.
func parseMooncake(line []byte) (row, error) {
	var l struct {
		Timestamp *float64 `json:"timestamp"`
		Input     *int     `json:"input_length"`
		Output    *int     `json:"output_length"`
		Hashes    []uint32 `json:"hash_ids"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return row{}, fmt.Errorf("expected an object with timestamp, input_length, output_length and hash_ids: %w", err)
	}
	if l.Timestamp == nil {
		return row{}, fmt.Errorf("the object lacks timestamp")
	}
	return lengthsOf(row{seconds: *l.Timestamp / mooncakeMembers.perSecond, blocks: l.Hashes}, l.Input, l.Output), nil
}

// parseOwn reads this program's own form.
func parseOwn(line []byte) (row, error) {
	var l struct {
		Seconds   *float64 `json:"seconds"`
		Timestamp *float64 `json:"timestamp"` // other name of the time
		Input     *int     `json:"input"`
		Output    *int     `json:"output"`
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
	return lengthsOf(row{seconds: *l.Seconds}, l.Input, l.Output), nil
}

// lengthsOf adds the lengths that an object has to its row.
func lengthsOf(r row, input, output *int) row {
	if r.hasInput = input != nil; r.hasInput {
		r.input = *input
	}
	if r.hasOutput = output != nil; r.hasOutput {
		r.output = *output
	}
	return r
}

// quick reads an object in these traces' usual form: names without escapes, numbers without signs and exponents, and
// strings. It returns false for every other line, valid or not, which the format's slow function then reads.
func (p *parser) quick(line []byte) bool {
	p.row = row{blocks: p.row.blocks[:0]}
	found := len(p.members.times) // precedence of the best time so far
	rest, ok := after(line, '{')
	for ok {
		var name []byte
		if name, rest, ok = text(rest); !ok {
			return false
		}
		if rest, ok = after(rest, ':'); !ok {
			return false
		}
		if rest, ok = p.member(name, rest, &found); !ok {
			return false
		}
		if end, isEnd := after(rest, '}'); isEnd {
			return len(bytes.TrimSpace(end)) == 0 && found < len(p.members.times)
		}
		rest, ok = after(rest, ',')
	}
	return false
}

// member reads the value of a member at the start of b and returns the rest.
func (p *parser) member(name, b []byte, found *int) (rest []byte, ok bool) {
	m, r := p.members, &p.row
	switch {
	case string(name) == m.input, string(name) == m.output:
		to, has := &r.input, &r.hasInput
		if string(name) == m.output {
			to, has = &r.output, &r.hasOutput
		}
		*has = true
		n, rest, ok := number(b)
		v, isWhole := digits(n)
		*to = int(v)
		return rest, ok && isWhole
	case m.blocks != "" && string(name) == m.blocks:
		return p.readBlocks(b)
	}
	for i, known := range m.times {
		if string(name) != known {
			continue
		}
		n, rest, ok := number(b)
		v, isDecimal := decimal(n)
		if i <= *found {
			*found, r.seconds = i, v/m.perSecond
		}
		return rest, ok && isDecimal
	}
	for _, known := range m.all {
		if strings.EqualFold(string(name), known) {
			return nil, false
		}
	}
	if _, rest, ok = text(b); ok {
		return rest, true
	}
	n, rest, ok := number(b)
	_, isDecimal := decimal(n)
	return rest, ok && isDecimal
}

func (p *parser) readBlocks(b []byte) (rest []byte, ok bool) {
	p.row.blocks = p.row.blocks[:0]
	rest, ok = after(b, '[')
	if end, isEnd := after(rest, ']'); ok && isEnd {
		return end, true
	}
	for ok {
		var n []byte
		if n, rest, ok = number(rest); !ok {
			return nil, false
		}
		v, isWhole := digits(n)
		if !isWhole || v > math.MaxUint32 {
			return nil, false
		}
		p.row.blocks = append(p.row.blocks, uint32(v))
		if end, isEnd := after(rest, ']'); isEnd {
			return end, true
		}
		rest, ok = after(rest, ',')
	}
	return nil, false
}

// after returns the rest behind a byte that blanks may precede.
func after(b []byte, c byte) ([]byte, bool) {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	if len(b) == 0 || b[0] != c {
		return b, false
	}
	return b[1:], true
}

// text returns a string without escapes at the start of b, and the rest.
func text(b []byte) (inner, rest []byte, ok bool) {
	b, ok = after(b, '"')
	for i, c := range b {
		switch {
		case !ok, c == '\\', c < ' ', c > '~':
			return nil, nil, false
		case c == '"':
			return b[:i], b[i+1:], true
		}
	}
	return nil, nil, false
}

// number returns the digits and points at the start of b, behind blanks, and the rest. JSON allows no leading zero.
func number(b []byte) (n, rest []byte, ok bool) {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	i := 0
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '.') {
		i++
	}
	n = b[:i]
	return n, b[i:], i > 0 && (i == 1 || n[0] != '0' || n[1] == '.')
}
