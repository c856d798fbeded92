package eventlog

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
)

const (
	mostRecord = 64 << 20 // bytes of one record
	bigBlock   = 1 << 20  // bytes from which on a block is decoded alone, which bounds memory
	readAtOnce = 4 * blockBytes
)

// sectionBytes is the length of a section record: the time from which the times of the next blocks count.
const sectionBytes = 8

// block is a record of requests, or the end record, on its way from the file to the functions of Read.
type block struct {
	raw     []byte // the whole record
	body    int    // where its body begins
	header  *Header
	startNS int64 // from which its times count
	batches chan *batch
	ended   bool // it is the end record
	end     *End

	// Complete when batches is closed.
	requests int64
	err      error
}

func (b *block) isBig() bool { return len(b.raw) > bigBlock }

// check compares the checksum.
func (b *block) check() error {
	if crc32.Checksum(b.raw[b.body:], castagnoli) != binary.LittleEndian.Uint32(b.raw[b.body-4:]) {
		return errRecord
	}
	return nil
}

// source reads a file block by block.
type source struct {
	in      *bufio.Reader
	header  *Header
	startNS int64
	aheadNS int64 // subtracted from each time
}

func newSource(from io.Reader, aheadNS int64) source {
	return source{in: bufio.NewReaderSize(from, readAtOnce), aheadNS: aheadNS}
}

var errHeader = errors.New("it does not begin with the header of an event log")

// next reads the next block, into the memory of an earlier one. io.EOF: the rest of the file has no whole block.
func (s *source) next(b *block) error {
	*b = block{raw: b.raw[:0]}
	if cap(b.raw) > bigBlock {
		b.raw = nil
	}
	for {
		if err := s.record(b); err != nil {
			return err
		}
		kind, body := b.raw[0], b.raw[b.body:]
		if s.header == nil && kind != kindHeader {
			return errHeader
		}
		if kind == kindRequests {
			b.header, b.startNS = s.header, s.startNS
			return nil // a worker compares the checksum
		}
		if err := b.check(); err != nil {
			return err
		}
		switch {
		case kind == kindHeader && s.header == nil:
			h := &Header{}
			if json.Unmarshal(body, h) != nil || h.Schema != Schema {
				return errHeader
			}
			h.StartNS -= s.aheadNS
			s.header, s.startNS = h, h.StartNS
		case kind == kindSection && len(body) == sectionBytes:
			s.startNS = int64(binary.LittleEndian.Uint64(body)) - s.aheadNS
		case kind == kindEnd:
			b.ended, b.end = true, &End{}
			return json.Unmarshal(body, b.end)
		default:
			return errRecord
		}
	}
}

// mostHead is the length of the longest head of a record: kind, length of the body, checksum.
const mostHead = 1 + binary.MaxVarintLen64 + 4

// record reads the next record. A file that was cut within it ends before it.
func (s *source) record(b *block) error {
	head, err := s.in.Peek(mostHead) // a short record at the end of the file is shorter
	if len(head) == 0 {
		return err
	}
	n, size := binary.Uvarint(head[1:])
	switch b.body = 1 + size + 4; {
	case size < 0 || n > mostRecord:
		return errRecord
	case size == 0 || len(head) < b.body:
		return err
	}
	b.raw = b.raw[:0]
	// The memory of many bytes grows with those that come, not with the length that is claimed.
	for left := b.body + int(n); left > 0; {
		part, at := min(left, readAtOnce), len(b.raw)
		b.raw = append(b.raw, make([]byte, part)...)
		if _, err := io.ReadFull(s.in, b.raw[at:]); err == io.ErrUnexpectedEOF {
			return io.EOF
		} else if err != nil {
			return err
		}
		left -= part
	}
	return nil
}
