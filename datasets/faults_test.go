package datasets

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A map in a file's structures is passed over, whatever its size, and what follows is read.
func TestMapsAreSkipped(t *testing.T) {
	for pairs := range 4 {
		b := []byte{byte(pairs)}
		if pairs > 0 {
			b = append(b, 5<<4|5) // keys and values are integers
			for range 2 * pairs {
				b = append(b, 14)
			}
		}
		r := thriftReader{b: append(b, 99)}
		r.mapping(0)
		require.NoError(t, r.err, pairs)
		require.Equal(t, byte(99), r.octet(), pairs)
	}
}

// A page may have no values, and at most so many.
func TestCountsOfPages(t *testing.T) {
	for n, fits := range map[int64]bool{0: true, 1: true, maxPageValues: true, maxPageValues + 1: false, -1: false} {
		got, f := pqCount(n)
		require.Equal(t, fits, f == nil, n)
		if fits {
			require.Equal(t, int(n), got)
		}
	}
}

// Files that only begin like packed ones are faults.
func TestBrokenPackedFiles(t *testing.T) {
	for _, text := range []string{"\x1f\x8b", "\x1f\x8bx", "\x1f\x8b\x08\xff", "\x28\xb5\x2f\xfd", "\x28\xb5\x2f\xfdxyz"} {
		_, err := Open(writeFile(t, "d.jsonl", []byte(text)), Options{})
		require.Error(t, err, "%q", text)
	}
}

// An image whose value is not a text is a fault.
func TestImagesOfOtherTypes(t *testing.T) {
	for value, fits := range map[string]bool{`"https://a/b.png"`: true, `5`: false, `true`: false, `[1]`: false,
		`{"bytes": 5}`: false, `{"path": "x"}`: false, `"\ud800"`: false} {
		d := &decoder{}
		_, _, f := d.appendImage(nil, []byte(value))
		require.Equal(t, fits, f == nil, value)
	}
}
