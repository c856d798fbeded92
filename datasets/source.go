package datasets

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Limits for compressed files: once freeBytes have been unpacked, a file may not grow beyond maxRatio times its size.
const (
	maxRatio  = 200
	freeBytes = 64 << 20
	zstdMax   = 256 << 20 // maximum window of a zstd file in bytes
)

var (
	errExpansion  = fmt.Errorf("a compressed file that grows to more than %d times its size", maxRatio)
	errCompressed = errors.New("bad compressed data")
	// errTemporary marks errors of the temporary file, which must not be mistaken for those of the data set.
	errTemporary = errors.New("no folder for its temporary copy")
)

// source is an opened file: its unpacked content, and the hash of its own bytes.
type source struct {
	file    *os.File
	raw     *hashed
	content io.Reader
	packing string // compression, as a suffix for Dataset.Format
	close   func()
}

func openSource(path string) (*source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, readFailed(path, err)
	}
	switch {
	case info.IsDir():
		return nil, &Error{Path: path, Found: "a folder", Expected: "a file", Try: "name the data set file inside it"}
	case !info.Mode().IsRegular():
		return nil, &Error{Path: path, Found: "a pipe or a device", Expected: "a regular file",
			Try: "write the data to a file first"}
	case info.Size() == 0:
		return nil, &Error{Path: path, Found: "an empty file", Expected: "a data set", Try: "get or make the file again"}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, readFailed(path, err)
	}
	s := &source{file: file, raw: &hashed{r: file, h: sha256.New()}, close: func() {}}
	if err := s.unpack(); err != nil {
		s.Close()
		return nil, readFailed(path, err)
	}
	return s, nil
}

// UnpackedSHA256 returns the SHA-256 of a file's content, unpacked if it is compressed with gzip or zstd, in lower-case
// hex.
func UnpackedSHA256(path string) (string, error) {
	s, err := openSource(path)
	if err != nil {
		return "", err
	}
	defer s.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, s.content); err != nil {
		return "", readFailed(path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// unpack detects the compression by the first bytes.
func (s *source) unpack() error {
	var magic [4]byte
	n, err := s.file.ReadAt(magic[:], 0)
	if err != nil && err != io.EOF {
		return err
	}
	switch head := string(magic[:n]); {
	case n >= 2 && head[:2] == "\x1f\x8b":
		z, err := gzip.NewReader(s.raw)
		if err != nil {
			return fmt.Errorf("%w: %w", errCompressed, err)
		}
		s.content, s.packing = &bounded{r: z, raw: s.raw}, ", gzip"
	case head == "\x28\xb5\x2f\xfd":
		z, err := zstd.NewReader(s.raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdMax),
			zstd.WithDecoderLowmem(true))
		if err != nil {
			return fmt.Errorf("%w: %w", errCompressed, err)
		}
		s.close = z.Close
		s.content, s.packing = &bounded{r: z, raw: s.raw}, ", zstd"
	default:
		s.content = s.raw
	}
	return nil
}

// whole returns the content for random access: the file itself, or an unnamed temporary file with the unpacked content.
// frames holds the bytes that were already read.
func (s *source) whole(frames *framer) (io.ReaderAt, int64, error) {
	if s.packing == "" {
		info, err := s.file.Stat()
		if err != nil {
			return nil, 0, err
		}
		return s.file, info.Size(), nil
	}
	f, err := os.CreateTemp("", "mlperf-go-dataset-*")
	if err == nil {
		inner := s.close
		s.close = func() { inner(); f.Close() }
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errTemporary, err)
	}
	size, err := io.Copy(f, frames.rest())
	return f, size, err
}

// sum reads the rest of the file and returns the SHA-256 of all its bytes.
func (s *source) sum() (string, error) {
	if _, err := io.Copy(io.Discard, s.raw); err != nil {
		return "", err
	}
	return hex.EncodeToString(s.raw.h.Sum(nil)), nil
}

// Close closes the file.
func (s *source) Close() {
	s.close()
	s.file.Close()
}

// hashed is a reader that hashes and counts the bytes.
type hashed struct {
	r io.Reader
	h hash.Hash
	n int64
}

func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.h.Write(p[:n])
	h.n += int64(n)
	return n, err
}

// bounded limits how much unpacked data may come from the packed bytes read so far.
type bounded struct {
	r   io.Reader
	raw *hashed
	n   int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	if b.n > freeBytes && b.n > maxRatio*b.raw.n {
		return 0, errExpansion
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", errCompressed, err)
	}
	return n, err
}

// growth compares the number of bytes produced from a file with the size of the file.
type growth struct{ made, size int64 }

// add adds n bytes and reports whether the total exceeds the limit.
func (g *growth) add(n int) bool {
	g.made += int64(n)
	return g.made > freeBytes && g.made > maxRatio*g.size
}
