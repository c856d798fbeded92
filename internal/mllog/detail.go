package mllog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// MaxLine is the maximum length of a line in bytes. A loaded_qsl_set line takes up to 8 bytes per sample of the set.
const MaxLine = 64 << 20

const readBuffer = 256 << 10

// Detail summarizes the reading of a detail log.
type Detail struct {
	Lines       int  // number of lines with LoadGen's marker, including broken ones
	Foreign     int  // number of lines without the marker, which are ignored
	Broken      int  // number of unreadable lines with the marker, except for an incomplete last line
	FirstBroken int  // number of the first broken line; 0: none
	Truncated   bool // whether the last line is incomplete

	FirstForeign int // number of the first foreign line; 0: none
	NULs         int // number of lines with a NUL byte
}

// ReadDetailFile calls ReadDetail for a file.
func ReadDetailFile(path string, fn func(*Entry) error) (Detail, error) {
	f, err := openLog(path)
	if err != nil {
		return Detail{}, fmt.Errorf("reading LoadGen's detail log %s: %w", path, err)
	}
	defer f.Close()
	d, err := ReadDetail(f, fn)
	if err != nil {
		return d, fmt.Errorf("reading LoadGen's detail log %s: %w", path, err)
	}
	return d, nil
}

// ReadDetail calls fn for every entry of a detail log, in file order, and stops at fn's first error. It counts broken
// and foreign lines; a line longer than MaxLine is an error.
func ReadDetail(r io.Reader, fn func(*Entry) error) (Detail, error) {
	var d Detail
	in := lineReader{r: bufio.NewReaderSize(r, readBuffer)}
	p := parser{keys: make(map[string]string)}
	for number := 1; ; number++ {
		line, ended, err := in.next()
		if err != nil {
			return d, fmt.Errorf("line %d: %w", number, err)
		}
		if line == nil {
			return d, nil
		}
		if bytes.IndexByte(line, 0) >= 0 {
			d.NULs++
		}
		body, ours := bytes.CutPrefix(bytes.TrimSpace(line), marker)
		if !ours {
			// An incomplete marker at the end of the file looks like foreign text.
			d.Truncated = !ended && len(line) > 0
			if d.Foreign++; d.FirstForeign == 0 {
				d.FirstForeign = number
			}
			continue
		}
		d.Lines++
		e, ok := p.parse(body)
		if !ok {
			d.broken(number, ended)
			continue
		}
		e.Line = number
		if err := fn(e); err != nil {
			return d, fmt.Errorf("line %d: %w", number, err)
		}
	}
}

func (d *Detail) broken(number int, ended bool) {
	if !ended {
		d.Truncated = true
		return
	}
	d.Broken++
	if d.FirstBroken == 0 {
		d.FirstBroken = number
	}
}

// lineReader returns lines of up to MaxLine bytes and copies only those that do not fit its buffer.
type lineReader struct {
	r    *bufio.Reader
	long []byte
}

var errLongLine = fmt.Errorf("a line is longer than %d MiB: not a LoadGen log", MaxLine>>20)

// next returns a line without its newline, and whether it had one; nil at the end.
func (l *lineReader) next() (line []byte, ended bool, err error) {
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case err == nil && len(l.long) == 0:
			return part[:len(part)-1], true, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF):
			return nil, false, err
		}
		l.long = append(l.long, part...)
		if len(l.long) > MaxLine {
			return nil, false, errLongLine
		}
		switch {
		case err == nil:
			return l.long[:len(l.long)-1], true, nil
		case len(l.long) == 0: // at the end
			return nil, false, nil
		case errors.Is(err, io.EOF):
			return l.long, false, nil
		}
	}
}

var (
	marker      = []byte(":::MLLOG ")
	beforeKey   = []byte(`{"key": "`)
	beforeValue = []byte(`", "value": `)
	beforeTime  = []byte(`, "time_ms": `)
	beforeSpace = []byte(`, "namespace": `)
	errorTrue   = []byte(`"is_error": true`)
	warningTrue = []byte(`"is_warning": true`)
	lineEnd     = []byte(`}}`)
)

// parser keeps one string per distinct key, so that reading a key allocates once.
type parser struct {
	keys  map[string]string
	entry Entry
}

// maxKeys is the maximum number of distinct keys that the parser keeps, which limits its memory for a hostile file.
const maxKeys = 4096

func (p *parser) key(b []byte) string {
	if s, ok := p.keys[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(p.keys) < maxKeys {
		p.keys[s] = s
	}
	return s
}

// parse reads LoadGen's fixed layout. A value extends from the first value mark to the last time mark, because an
// unescaped string may contain anything. Any other layout is parsed as plain JSON.
func (p *parser) parse(body []byte) (*Entry, bool) {
	rest, ok := bytes.CutPrefix(body, beforeKey)
	if !ok || !bytes.HasSuffix(rest, lineEnd) {
		return p.parseJSON(body)
	}
	keyEnd := bytes.Index(rest, beforeValue)
	timeAt := bytes.LastIndex(rest, beforeTime)
	if keyEnd < 0 || timeAt < keyEnd+len(beforeValue) {
		return p.parseJSON(body)
	}
	tail := rest[timeAt+len(beforeTime):]
	spaceAt := bytes.Index(tail, beforeSpace)
	if spaceAt < 0 {
		return p.parseJSON(body)
	}
	ms, err := strconv.ParseFloat(string(tail[:spaceAt]), 64)
	if err != nil {
		return nil, false
	}
	p.entry = Entry{
		Key:       p.key(rest[:keyEnd]),
		Value:     Value(rest[keyEnd+len(beforeValue) : timeAt]),
		IsError:   bytes.Contains(tail, errorTrue),
		IsWarning: bytes.Contains(tail, warningTrue),
		TimeMS:    ms,
	}
	return &p.entry, true
}

func (p *parser) parseJSON(body []byte) (*Entry, bool) {
	var e struct {
		Key      *string
		Value    json.RawMessage
		TimeMS   float64 `json:"time_ms"`
		Metadata struct {
			IsError   bool `json:"is_error"`
			IsWarning bool `json:"is_warning"`
		}
	}
	if json.Unmarshal(body, &e) != nil || e.Key == nil {
		return nil, false
	}
	p.entry = Entry{
		Key: *e.Key, Value: Value(e.Value), TimeMS: e.TimeMS,
		IsError: e.Metadata.IsError, IsWarning: e.Metadata.IsWarning,
	}
	return &p.entry, true
}
