package ledger

import (
	"math"
	"math/bits"
	"slices"
)

// radixFrom is the smallest number of keys for which sorting by digits is faster than by comparison (BenchmarkSort).
const radixFrom = 1 << 12

// digitBits is the maximum length of a digit in bits. The counters of one digit then fit into a processor's L1 cache.
const digitBits = 11

// sortKeys sorts keys by digits from the lowest. It uses other, a slice of the same length, as scratch memory. It
// returns both slices, the sorted one first. The cost grows with the number of bits in which keys differ: durations of
// up to 8 s in ns take three rounds, quotients of them six.
func sortKeys(keys, other []uint64) (sorted, free []uint64) {
	if len(keys) < radixFrom {
		slices.Sort(keys)
		return keys, other
	}
	span := spanOf(keys)
	rounds := (span + digitBits - 1) / digitBits
	for low := 0; low < span; {
		width := (span + rounds - 1) / rounds
		sortDigit(keys, other, low, uint64(1)<<width-1)
		keys, other = other, keys
		low += width
	}
	return keys, other
}

// spanOf returns the number of low bits in which keys differ.
func spanOf(keys []uint64) int {
	differ := uint64(0)
	for _, k := range keys {
		differ |= k ^ keys[0]
	}
	return bits.Len64(differ)
}

// sortDigit copies keys to other in the order of the digit that begins at bit low.
func sortDigit(keys, other []uint64, low int, mask uint64) {
	var next [1 << digitBits]int32
	for _, k := range keys {
		next[k>>low&mask]++
	}
	at := int32(0)
	for i, n := range next {
		next[i], at = at, at+n
	}
	for _, k := range keys {
		digit := k >> low & mask
		other[next[digit]] = k
		next[digit]++
	}
}

// rankBits is the length in bits of the digit by which ranked divides keys into groups.
const rankBits = 16

// ranked returns the keys at indices of the ascending order, which the figures need instead of the whole order. It
// divides the keys into groups by the highest bits in which they differ, and sorts only the groups that contain an
// index. It changes the order of keys, and uses other, which has at least their length, and counts, of 1<<rankBits
// counters, as scratch memory.
func ranked(keys, other []uint64, counts []int32, indices []int) []uint64 {
	out := make([]uint64, len(indices))
	if len(keys) < radixFrom {
		slices.Sort(keys)
		for i, at := range indices {
			out[i] = keys[at]
		}
		return out
	}
	low, mask := max(spanOf(keys)-rankBits, 0), uint64(1)<<rankBits-1
	clear(counts)
	for _, k := range keys {
		counts[k>>low&mask]++
	}
	ascending := slices.Sorted(slices.Values(indices))
	skipped := make([]int, len(indices)) // number of keys below the group of an index in groups without an index
	below, without, next := 0, 0, 0
	for digit, count := range counts {
		n, first := int(count), next
		for next < len(ascending) && ascending[next] < below+n {
			skipped[next] = without
			next++
		}
		if below += n; next == first {
			without, counts[digit] = without+n, 0
		}
	}
	some := other[:0]
	for _, k := range keys {
		if counts[k>>low&mask] > 0 {
			some = append(some, k)
		}
	}
	some, _ = sortKeys(some, keys[:len(some)])
	for i, at := range indices {
		place, _ := slices.BinarySearch(ascending, at)
		out[i] = some[at-skipped[place]]
	}
	return out
}

const signBit = 1 << 63

// keyOfNS converts a duration in ns to an unsigned integer that sorts in the same order.
func keyOfNS(ns int64) uint64 { return uint64(ns) ^ signBit }

// secondsOfNS converts a key of keyOfNS to seconds.
func secondsOfNS(key uint64) float64 { return seconds(int64(key ^ signBit)) }

// keyOf converts a value, which must not be NaN, to an integer that sorts in the same order.
func keyOf(v float64) uint64 {
	b := math.Float64bits(v)
	if b&signBit != 0 {
		return ^b
	}
	return b | signBit
}

// valueOf converts a key of keyOf back to its value.
func valueOf(key uint64) float64 {
	if key&signBit != 0 {
		return math.Float64frombits(key &^ signBit)
	}
	return math.Float64frombits(^key)
}
