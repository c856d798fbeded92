package datasets

import (
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"golang.org/x/sys/unix"
)

// npyContent returns the numbers of a .npy file in order.
type npyContent interface {
	// take returns the next n bytes, valid until the next call. It returns io.EOF if none are left, and
	// io.ErrUnexpectedEOF if there are fewer.
	take(n int) ([]byte, error)
}

// npyPiece limits how much the buffer grows before the bytes have been read.
const npyPiece = 256 << 10

// npyStream reads the numbers of a compressed file.
type npyStream struct {
	r io.Reader
	b []byte
}

func (s *npyStream) take(n int) ([]byte, error) {
	s.b = s.b[:0]
	for len(s.b) < n {
		have, piece := len(s.b), min(n-len(s.b), npyPiece)
		s.b = slices.Grow(s.b, piece)
		got, err := io.ReadFull(s.r, s.b[have:have+piece])
		if s.b = s.b[:have+got]; err == io.EOF && have > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return s.b, err
		}
	}
	return s.b, nil
}

// npyWindow is the number of bytes before the read position that stay in memory.
const npyWindow = 8 << 20

// npyMap reads the numbers from a mapped file without copying.
type npyMap struct {
	b       []byte // the whole file
	at      int
	dropped int // number of bytes at the start that have been released
}

func (m *npyMap) take(n int) ([]byte, error) {
	if done := m.at &^ (os.Getpagesize() - 1); done-m.dropped >= npyWindow {
		_ = unix.Madvise(m.b[m.dropped:done], unix.MADV_DONTNEED) // if this fails, the pages stay in memory longer
		m.dropped = done
	}
	switch left := len(m.b) - m.at; {
	case n > 0 && left == 0:
		return nil, io.EOF
	case n > left:
		return m.b[m.at:], io.ErrUnexpectedEOF
	}
	m.at += n
	return m.b[m.at-n : m.at], nil
}

// mapped returns the file as a read-only map that lives as long as the source, or nil if the file is compressed or
// cannot be mapped. It is then read as a stream.
func (s *source) mapped() []byte {
	info, err := s.file.Stat()
	if s.packing != "" || err != nil {
		return nil
	}
	b, err := unix.Mmap(int(s.file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	inner := s.close
	s.close = func() { inner(); _ = unix.Munmap(b) }
	return b
}

// recoverCutMap converts the fault that reading a truncated mapped file causes to an error. The caller defers the
// function that it returns.
func recoverCutMap(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		caught := recover()
		if caught == nil {
			return
		}
		fault, ok := caught.(interface {
			runtime.Error
			Addr() uintptr
		})
		if !ok {
			panic(caught)
		}
		*err = &fileError{fault: npyFault("fewer bytes than when it was opened: the file was truncated or its disk failed"),
			err: fault}
	}
}
