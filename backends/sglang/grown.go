// HOT PATH: idsOf and textOf run once per event. No allocation except for the growth of the answer.

package sglang

import (
	"bytes"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// keepBuffer is the size of the largest buffer, in bytes, that is reused for the next answer.
const keepBuffer = 1 << 20

// grownIDs is the list of ids of the previous event. Equal bytes mean equal ids, so that only the bytes behind them are
// read.
type grownIDs struct {
	raw  []byte // from behind the opening bracket to the last digit; empty: not learned
	list []int32
	bad  bool // one of them is not a valid id
}

func (g *grownIDs) forget() { g.raw, g.list, g.bad = emptied(g.raw), g.list[:0], false }

// grownText is the text of the previous event, as in the JSON and decoded.
type grownText struct {
	raw   []byte
	plain []byte // only if the text is kept
	quote []byte // buffer: a piece with quotes around it
	whole bool   // raw is valid UTF-8: what follows it can be decoded alone
}

func (g *grownText) forget() { g.raw, g.plain, g.whole = emptied(g.raw), emptied(g.plain), true }

func emptied(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// idsOf reads the list of ids, or null.
func (w *walker) idsOf(e *reader.Event) bool {
	if w.Null() {
		return true
	}
	g, b, from := &w.ids, w.B, w.I+1
	if !w.Open('[') {
		return false
	}
	e.HasIDs = true
	known := len(g.raw)
	if end := from + known; known > 0 && end < len(b) && b[end]-'0' > 9 && b[end]|0x20 != 'e' && b[end] != '.' &&
		bytes.Equal(b[from:end], g.raw) {
		e.Known = len(g.list)
		w.I = end
	} else {
		g.forget()
		known = 0
	}
	for last := from + known; ; last = w.I {
		w.Blank()
		if len(g.list) > 0 {
			if w.Open(']') {
				g.raw = append(g.raw, b[from+known:last]...)
				break
			}
			if !w.Open(',') {
				return false
			}
			w.Blank()
		} else if w.Open(']') {
			break
		}
		var id int64
		if !w.Integer(&id, -1) {
			return false
		}
		if id < 0 || id > 1<<31-1 {
			g.bad, id = true, -1
		}
		g.list = append(g.list, int32(id))
	}
	e.IDs, e.BadID = g.list, g.bad
	return true
}

// textOf reads the text, or null.
func (w *walker) textOf(e *reader.Event) bool {
	if w.Null() {
		return true
	}
	if !w.Open('"') {
		return false
	}
	g := &w.text
	known := len(g.raw)
	if known > 0 && bytes.HasPrefix(w.B[w.I:], g.raw) {
		w.I += known
	} else {
		g.forget()
	}
	raw, escaped, ok := w.Rest()
	if !ok || (w.KeepText && !g.decode(raw, escaped)) {
		return false
	}
	g.raw = append(g.raw, raw...)
	e.HasText, e.Text = len(g.raw) > 0, g.plain
	return true
}

// decode adds a piece to the decoded text. A piece that may complete a surrogate pair or a character is decoded
// together with the text before it.
func (g *grownText) decode(piece []byte, escaped bool) (ok bool) {
	if !g.whole || bytes.HasPrefix(piece, []byte(`\u`)) {
		g.plain, escaped = g.plain[:0], true
		g.quote = append(append(g.quote[:0], '"'), g.raw...)
	} else {
		g.quote = append(g.quote[:0], '"')
	}
	g.whole = g.whole && utf8.Valid(piece)
	g.quote = append(append(g.quote, piece...), '"')
	g.plain, ok = reader.AppendDecoded(g.plain, g.quote, piece, escaped)
	return ok
}
