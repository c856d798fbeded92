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

	"github.com/klauspost/compress/zstd"
)

const mostRecord = 64 << 20 // bytes of one record

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

// ReadFrom is Read of an open file.
func ReadFrom(from io.Reader, each func(h *Header, r *Request) error) (*End, error) {
	d, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(holdAtMost))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	in := bufio.NewReaderSize(d, 64<<10)
	var h *Header
	var r Request
	var body []byte
	for {
		kind, err := next(in, &body)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			if h == nil {
				return nil, errors.New("it does not begin with the header of an event log")
			}
			return nil, nil // cut: what came before is whole
		default:
			return nil, err
		}
		switch {
		case h == nil:
			h = &Header{}
			if kind != kindHeader || json.Unmarshal(body, h) != nil || h.Schema != Schema {
				return nil, errors.New("it does not begin with the header of an event log")
			}
		case kind == kindRequest:
			if err := r.decode(body, h.StartNS); err != nil {
				return nil, err
			}
			if err := each(h, &r); err != nil {
				return nil, err
			}
		case kind == kindEnd:
			e := &End{}
			return e, json.Unmarshal(body, e)
		default:
			return nil, errRecord
		}
	}
}

// next reads one record into body, which grows with the bytes that come, not with the length that is claimed.
func next(in *bufio.Reader, body *[]byte) (kind byte, err error) {
	if kind, err = in.ReadByte(); err != nil {
		return 0, err
	}
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, err
	}
	if n > mostRecord {
		return 0, errRecord
	}
	var sum [4]byte
	if _, err := io.ReadFull(in, sum[:]); err != nil {
		return 0, err
	}
	*body = (*body)[:0]
	const step = 64 << 10
	for left := int(n); left > 0; {
		part := min(left, step)
		at := len(*body)
		*body = append(*body, make([]byte, part)...)
		if _, err := io.ReadFull(in, (*body)[at:]); err != nil {
			return 0, err
		}
		left -= part
	}
	if crc32.Checksum(*body, castagnoli) != binary.LittleEndian.Uint32(sum[:]) {
		return 0, errRecord
	}
	return kind, nil
}
