package ledger

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// mostCounted bounds the count of a bucket in a text, so that the counts of many texts can be added up.
const mostCounted = 1 << 40

// Merge adds all values of other.
func (b *Batch) Merge(other *Batch) {
	for i, n := range other.buckets {
		b.buckets[i] += n
	}
	b.sum += other.sum
	b.max = max(b.max, other.max)
}

// MarshalText writes the counts for another process, in base64: the largest value, then for each bucket that is not
// empty its distance from the one before and its count, as varints. The sum is left out: only Mean needs it.
func (b *Batch) MarshalText() ([]byte, error) {
	data := binary.AppendUvarint(nil, uint64(b.max))
	last := 0
	for i, n := range b.buckets {
		if n != 0 {
			data = binary.AppendUvarint(binary.AppendUvarint(data, uint64(i-last)), uint64(n))
			last = i
		}
	}
	return base64.StdEncoding.AppendEncode(nil, data), nil
}

// UnmarshalText replaces the counts by those of MarshalText. An error means that the text is malformed.
func (b *Batch) UnmarshalText(text []byte) error {
	data, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("counts in buckets: %w", err)
	}
	*b = Batch{}
	top, n := binary.Uvarint(data)
	if n <= 0 || top > 1<<63-1 {
		return fmt.Errorf("counts in buckets: the largest value is missing or out of range")
	}
	b.max = int64(top)
	for last, data := uint64(0), data[n:]; len(data) > 0; {
		gap, a := binary.Uvarint(data)
		count, c := binary.Uvarint(data[max(a, 0):])
		if a <= 0 || c <= 0 || gap >= nBuckets || last+gap >= nBuckets || count > mostCounted {
			return fmt.Errorf("counts in buckets: %d bytes before the end, a bucket or count is out of range", len(data))
		}
		last += gap
		b.buckets[last] = int64(count)
		data = data[a+c:]
	}
	return nil
}
