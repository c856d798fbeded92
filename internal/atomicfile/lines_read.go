package atomicfile

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// readWindow limits the memory in bytes that a compressed file of unknown origin can require.
const readWindow = 64 << 20

type linesReader struct {
	io.Reader
	file  *os.File
	close func()
}

// OpenLines opens a file and decompresses it if its name ends in .zst or .gz. The name of an unfinished file (Left) is
// taken as its final name.
func OpenLines(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	r := &linesReader{Reader: f, file: f}
	name := finalName(path)
	switch {
	case strings.HasSuffix(name, ".zst"):
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(readWindow))
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("reading %s as zstd: %w", path, err)
		}
		r.Reader, r.close = z, z.Close
	case strings.HasSuffix(name, ".gz"):
		z, err := gzip.NewReader(f)
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("reading %s as gzip: %w", path, err)
		}
		r.Reader = z
	}
	return r, nil
}

func (r *linesReader) Close() error {
	if r.close != nil {
		r.close()
	}
	return r.file.Close()
}
