package eventlog

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

const (
	mostRecord = 64 << 20 // bytes of one record
	readAtOnce = 4 * blockBytes
)

// Read calls each with every request of a file. The request is valid until each returns. The result is the end record;
// nil: the file has none, because the program that wrote it was killed or is still running.
func Read(path string, each func(h *Header, r *Request) error) (*End, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	end, err := ReadFrom(f, each)
	if err != nil {
		err = fmt.Errorf("the event log %s: %w", path, err)
	}
	return end, err
}

// ReadFrom is Read of an open file. Another goroutine decodes while each runs.
func ReadFrom(from io.Reader, each func(h *Header, r *Request) error) (*End, error) {
	p := &parser{in: bufio.NewReaderSize(from, readAtOnce),
		empty: make(chan *batch, batches), full: make(chan *batch, batches)}
	for range batches {
		p.empty <- &batch{arena: make([]Event, 0, batchEvents)}
	}
	var wait sync.WaitGroup
	wait.Go(p.run)
	defer wait.Wait()
	defer close(p.empty)
	for b := range p.full {
		for i := range b.requests {
			if err := each(b.header, &b.requests[i]); err != nil {
				return nil, err
			}
		}
		if b.last {
			return b.end, b.err
		}
		p.empty <- b
	}
	return nil, errRecord // not reached: the parser sends a last batch
}

// Bounds of a batch.
const (
	batches       = 3
	batchRequests = 256
	batchEvents   = 1 << 14 // so that long answers need no more than a few hundred KiB
)

// batch is some requests of a log in their order.
type batch struct {
	header   *Header
	requests []Request // its memory is used again, and that of arena, in which their events are
	arena    []Event
	last     bool
	end      *End
	err      error
}

// parser decodes a log into batches.
type parser struct {
	in          *bufio.Reader
	header      *Header
	block       cursor  // requests that were read and not decoded
	last        Request // of block
	body        []byte  // of a record that is longer than the buffer of in
	empty, full chan *batch
}

// run fills batches until the end of the log, or until no more empty ones come.
func (p *parser) run() {
	defer crash.Catch()
	for b := range p.empty {
		p.fill(b)
		p.full <- b
		if b.last {
			return
		}
	}
}

func (p *parser) fill(b *batch) {
	b.requests = b.requests[:0]
	free := b.arena
	for events := 0; len(b.requests) < batchRequests && events < batchEvents; {
		if cap(b.requests) > len(b.requests) {
			b.requests = b.requests[:len(b.requests)+1]
		} else {
			b.requests = append(b.requests, Request{})
		}
		r := &b.requests[len(b.requests)-1]
		r.Events = free
		var isRequest bool
		if isRequest, b.end, b.err = p.record(r); !isRequest {
			b.requests = b.requests[:len(b.requests)-1]
			b.last = true
			break
		}
		if cap(r.Events) > cap(b.arena) {
			b.arena = r.Events[:0] // it grew
		}
		free = r.Events[len(r.Events):]
		events += len(r.Events)
	}
	b.header = p.header
}

// record reads records until a request. Without one, the log has ended.
func (p *parser) record(r *Request) (isRequest bool, _ *End, _ error) {
	for {
		if len(p.block.b) > 0 {
			err := p.block.request(r, &p.last, p.header.StartNS)
			p.last.follow(r)
			return err == nil, nil, err
		}
		kind, body, err := p.next()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			if p.header == nil {
				return false, nil, errHeader
			}
			return false, nil, nil // cut: the earlier requests are whole
		default:
			return false, nil, err
		}
		switch {
		case p.header == nil:
			p.header = &Header{}
			if kind != kindHeader || json.Unmarshal(body, p.header) != nil || p.header.Schema != Schema {
				return false, nil, errHeader
			}
		case kind == kindRequests:
			p.block, p.last = cursor{b: body}, Request{}
		case kind == kindEnd:
			e := &End{}
			return false, e, json.Unmarshal(body, e)
		default:
			return false, nil, errRecord
		}
	}
}

var errHeader = errors.New("it does not begin with the header of an event log")

// mostHead is the length of the longest head of a record: kind, length of the body, checksum.
const mostHead = 1 + binary.MaxVarintLen64 + 4

// next returns the next record. Its body is valid until the next call.
func (p *parser) next() (kind byte, body []byte, err error) {
	head, cut := p.in.Peek(mostHead) // a short record at the end of the file is shorter
	if len(head) == 0 {
		return 0, nil, cut
	}
	n, size := binary.Uvarint(head[1:])
	at := 1 + max(size, 0)
	switch {
	case size < 0 || n > mostRecord:
		return 0, nil, errRecord
	case size == 0 || len(head) < at+4:
		return 0, nil, cut
	}
	kind, at = head[0], at+4
	sum := binary.LittleEndian.Uint32(head[at-4:])
	_, _ = p.in.Discard(at) // Peek has read these bytes
	if body, err = p.take(int(n)); err != nil {
		return 0, nil, err
	}
	if crc32.Checksum(body, castagnoli) != sum {
		return 0, nil, errRecord
	}
	return kind, body, nil
}

// take returns the next n bytes. Its memory grows with the available bytes, not with the claimed length.
func (p *parser) take(n int) ([]byte, error) {
	if n <= p.in.Size() {
		body, err := p.in.Peek(n)
		if err == nil {
			_, err = p.in.Discard(n)
		}
		return body, err
	}
	const step = 64 << 10
	p.body = p.body[:0]
	for left := n; left > 0; {
		part := min(left, step)
		at := len(p.body)
		p.body = append(p.body, make([]byte, part)...)
		if _, err := io.ReadFull(p.in, p.body[at:]); err != nil {
			return nil, err
		}
		left -= part
	}
	return p.body, nil
}
