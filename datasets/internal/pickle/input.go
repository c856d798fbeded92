package pickle

import (
	"bytes"
	"io"
	"math"
)

// Limits for the parts of a pickle.
const (
	maxText = 1 << 30 // maximum length of one string in bytes
	maxLine = 64 << 20
	maxName = 256 // maximum length of a module's or a class's name
	step    = 1 << 20
)

// input reads a stream in pieces.
type input struct {
	r          io.Reader
	buf        []byte
	start, end int
	passed     int64 // number of stream bytes before buf[start]
	err        error // read error other than io.EOF
}

// fill reads more bytes. It returns false at the end of the stream or if err is set.
func (in *input) fill() bool {
	in.end = copy(in.buf, in.buf[in.start:in.end])
	in.start = 0
	if in.end == len(in.buf) {
		in.buf = append(in.buf, make([]byte, max(len(in.buf), 64<<10))...)
	}
	for range 100 {
		n, err := in.r.Read(in.buf[in.end:])
		in.end += n
		if err != nil && err != io.EOF {
			in.err = err
			return false
		}
		if n > 0 {
			return true
		}
		if err == io.EOF {
			return false
		}
	}
	in.err = io.ErrNoProgress
	return false
}

func (in *input) cut() error {
	if in.err != nil {
		return in.err
	}
	return damaged("the end of the file before the end of the pickle")
}

// take returns the next n bytes, at most step. They are valid until the next call.
func (in *input) take(n int) ([]byte, error) {
	for in.end-in.start < n {
		if !in.fill() {
			return nil, in.cut()
		}
	}
	b := in.buf[in.start : in.start+n]
	in.start += n
	in.passed += int64(n)
	return b, nil
}

func (in *input) byte() (byte, error) {
	b, err := in.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// number reads a little-endian number of n bytes.
func (in *input) number(n int) (uint64, error) {
	b, err := in.take(n)
	v := uint64(0)
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, err
}

// bytes copies n bytes into a buffer that grows as they arrive, so that a false length allocates no memory.
func (in *input) bytes(n uint64) ([]byte, error) {
	if n > maxText || n > math.MaxInt {
		return nil, damaged("a text longer than 1 GiB")
	}
	b := make([]byte, 0, min(n, step))
	for uint64(len(b)) < n {
		part, err := in.take(int(min(step, n-uint64(len(b)))))
		if err != nil {
			return nil, err
		}
		b = append(b, part...)
	}
	return b, nil
}

// counted copies bytes that are preceded by their length, a number of n bytes.
func (in *input) counted(n int) ([]byte, error) {
	size, err := in.number(n)
	if err != nil {
		return nil, err
	}
	return in.bytes(size)
}

// line returns the bytes up to a line feed, without it. They are valid until the next call.
func (in *input) line(most int) ([]byte, error) {
	for from := 0; ; {
		w := in.buf[in.start:in.end]
		if n := bytes.IndexByte(w[from:], '\n'); n >= 0 {
			line, err := in.take(from + n + 1)
			return line[:max(len(line)-1, 0)], err
		}
		if from = len(w); from > most {
			return nil, damaged("an overlong line")
		}
		if !in.fill() {
			return nil, in.cut()
		}
	}
}
