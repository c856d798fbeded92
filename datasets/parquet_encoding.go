package datasets

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// pqLevels decodes n levels. A level above most is an error.
func pqLevels(dst []uint32, src []byte, n, most int) ([]uint32, *fault) {
	if most == 0 {
		return dst, nil
	}
	levels, f := hybrid(dst, src, n, bits.Len(uint(most)))
	if f != nil {
		return levels, f
	}
	for _, l := range levels {
		if int(l) > most {
			return levels, pqDamaged(fmt.Sprintf("a level %d above the maximum %d", l, most))
		}
	}
	return levels, nil
}

// hybrid decodes n numbers of width bits in the hybrid of run lengths and packed bits (Encodings.md, RLE). It truncates
// runs that are longer than needed.
func hybrid(dst []uint32, src []byte, n, width int) ([]uint32, *fault) {
	for len(dst) < n {
		head, used := binary.Uvarint(src)
		if head > math.MaxUint32 || head < 2 { // 0 if the number is truncated or has more than 64 bits
			return dst, pqDamaged("truncated run lengths")
		}
		src = src[used:]
		if head&1 == 0 {
			size := (width + 7) / 8
			if len(src) < size {
				return dst, pqDamaged("truncated run lengths")
			}
			var b [4]byte
			copy(b[:], src[:size])
			src = src[size:]
			value := binary.LittleEndian.Uint32(b[:])
			for range min(int(head>>1), n-len(dst)) {
				dst = append(dst, value)
			}
			continue
		}
		count := min(int(head>>1)*8, n-len(dst))
		size := int(head>>1) * width
		if len(src) < (count*width+7)/8 {
			return dst, pqDamaged("truncated packed bits")
		}
		dst = unpackBits(dst, src, count, width)
		src = src[min(size, len(src)):]
	}
	return dst, nil
}

// unpackBits appends count numbers of width bits, lowest bit first.
func unpackBits(dst []uint32, src []byte, count, width int) []uint32 {
	mask := uint64(1)<<width - 1
	var held uint64
	have := 0 // number of bits held
	for range count {
		for ; have < width; have += 8 {
			held |= uint64(src[0]) << have
			src = src[1:]
		}
		dst = append(dst, uint32(held&mask))
		held >>= width
		have -= width
	}
	return dst
}

// unpack returns the body of a page, which must have exactly size bytes. It uses buf if it is large enough.
func (c *pqColumn) unpack(buf, packed []byte, size int) ([]byte, *fault) {
	if c.codec == 0 {
		return append(buf[:0], packed...), nil
	}
	if size < 0 || c.grown.add(size) {
		return nil, &fault{found: errExpansion.Error(), expected: "data", try: "unpack the file yourself if you trust it"}
	}
	if cap(buf) < size {
		buf = make([]byte, size, size+size/4)
	}
	buf = buf[:size]
	var err error
	switch c.codec {
	case 1:
		if n, e := snappy.DecodedLen(packed); e != nil || n != size {
			return nil, pqDamaged("a snappy page whose size differs from its header")
		}
		buf, err = snappy.Decode(buf, packed)
	case 2:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(packed)); err == nil {
			err = readExactly(z, buf)
		}
	case 6:
		if c.zstd == nil {
			c.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxPageWindow),
				zstd.WithDecoderLowmem(true))
		}
		if err == nil {
			err = c.zstd.Reset(bytes.NewReader(packed))
		}
		if err == nil {
			err = readExactly(c.zstd, buf)
		}
	default:
		return nil, pqRefused("the compression " + pqCodecName(c.codec))
	}
	if err != nil {
		return nil, pqDamaged(fmt.Sprintf("a corrupt page (%v)", err))
	}
	return buf, nil
}

func pqCodecName(codec int64) string {
	names := []string{"none", "snappy", "gzip", "LZO", "brotli", "LZ4", "zstd", "LZ4_RAW"}
	if codec >= 0 && codec < int64(len(names)) {
		return names[codec]
	}
	return fmt.Sprint(codec)
}

// readExactly fills buf and expects the end after it.
func readExactly(r io.Reader, buf []byte) error {
	if _, err := io.ReadFull(r, buf); err != nil {
		return err
	}
	var more [1]byte
	if n, err := io.ReadFull(r, more[:]); n > 0 || err != io.EOF {
		return errors.New("more bytes than in its header")
	}
	return nil
}
