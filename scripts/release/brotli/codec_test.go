package brotli

import (
	"testing"

	"github.com/parquet-go/parquet-go/compress"
	original "github.com/parquet-go/parquet-go/compress/brotli"
	"github.com/stretchr/testify/require"
)

// TestCodec compares the codec with parquet-go's.
func TestCodec(t *testing.T) {
	var codec, was compress.Codec = &Codec{DefaultQuality, DefaultLGWin},
		&original.Codec{Quality: original.DefaultQuality, LGWin: original.DefaultLGWin}
	require.Equal(t, was.String(), codec.String())
	require.Equal(t, was.CompressionCodec(), codec.CompressionCodec())
	_, err := codec.Encode(nil, []byte("x"))
	require.ErrorIs(t, err, errAbsent)
	_, err = codec.Decode(nil, []byte("x"))
	require.ErrorIs(t, err, errAbsent)
}
