package ledger

import (
	"math"
	"slices"
)

// radixFrom is the number of values from which sorting by digits is faster than by comparison (BenchmarkSort).
const radixFrom = 1 << 12

// sortSeconds sorts values that are not NaN, by digits of 11 bits from the lowest. For a million durations it takes
// 40 ms of processor time where slices.Sort takes 95, and a test has 14 such lists.
func sortSeconds(values []float64) {
	if len(values) < radixFrom {
		slices.Sort(values)
		return
	}
	const digits, bits, mask = 6, 11, 1<<11 - 1
	var counts [digits][mask + 1]int32
	keys, other := make([]uint64, len(values)), make([]uint64, len(values))
	for i, v := range values {
		k := keyOf(v)
		keys[i] = k
		for d := range digits {
			counts[d][k>>(bits*d)&mask]++
		}
	}
	for d := range digits {
		count := &counts[d]
		if int(count[keys[0]>>(bits*d)&mask]) == len(keys) {
			continue // they all have this digit
		}
		at := int32(0)
		for i, n := range count {
			count[i], at = at, at+n
		}
		for _, k := range keys {
			digit := k >> (bits * d) & mask
			other[count[digit]] = k
			count[digit]++
		}
		keys, other = other, keys
	}
	for i, k := range keys {
		values[i] = valueOf(k)
	}
}

const signBit = 1 << 63

// keyOf returns an integer that has the order of the value.
func keyOf(v float64) uint64 {
	b := math.Float64bits(v)
	if b&signBit != 0 {
		return ^b
	}
	return b | signBit
}

func valueOf(key uint64) float64 {
	if key&signBit != 0 {
		return math.Float64frombits(key &^ signBit)
	}
	return math.Float64frombits(^key)
}
