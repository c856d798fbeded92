package brotli

import (
	"errors"

	"github.com/parquet-go/parquet-go/format"
)

// Settings of parquet-go's codec.
const (
	DefaultQuality = 0
	DefaultLGWin   = 0
)

// Codec neither compresses nor decompresses.
type Codec struct {
	Quality int
	LGWin   int
}

var errAbsent = errors.New("this release has no brotli")

// String returns the name of the compression.
func (*Codec) String() string { return "BROTLI" }

// CompressionCodec returns the number of the compression in Parquet files.
func (*Codec) CompressionCodec() format.CompressionCodec { return format.Brotli }

// Encode fails.
func (*Codec) Encode(_, _ []byte) ([]byte, error) { return nil, errAbsent }

// Decode fails.
func (*Codec) Decode(_, _ []byte) ([]byte, error) { return nil, errAbsent }
