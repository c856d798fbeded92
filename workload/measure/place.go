package measure

import (
	"math"
	"math/bits"
	"slices"
)

// wanted returns the positions among n sorted values that pick reads for Percents, in ascending order.
func wanted(n int, by rule) []int {
	var list []int
	for _, p := range Percents {
		low, high, _ := around(n, p/100, by)
		list = append(list, low, high)
	}
	return list
}

// place orders values partially, so that each of some ascending positions has its value in the sorted list. For few
// positions among many values that is a fraction of the work of sorting, and it needs no further memory.
func place(list []float64, at []int) { placeFrom(list, 0, at, 2*bits.Len(uint(len(list)))) }

const sortAtMost = 32 // values: sorting so few is as quick

// placeFrom is place of a part of the list that begins at a position. After rounds divisions it sorts what is left.
func placeFrom(list []float64, from int, at []int, rounds int) {
	for ; len(at) > 0; rounds-- {
		if len(list) <= sortAtMost || rounds <= 0 {
			slices.Sort(list)
			return
		}
		pivot := middle(list)
		first := below(list, pivot)
		if first > 0 {
			k, _ := slices.BinarySearch(at, from+first)
			placeFrom(list[:first], from, at[:k], rounds-1)
			at = at[k:]
		} else { // the pivot is the least value: all that are equal to it have their place
			first = below(list, math.Nextafter(pivot, math.Inf(1)))
			k, _ := slices.BinarySearch(at, from+first)
			at = at[k:]
		}
		list, from = list[first:], from+first
	}
}

// middle returns the median of three medians of three values.
func middle(list []float64) float64 {
	var of [3]float64
	for i := range of {
		k := len(list) * (2*i + 1) / 6
		of[i] = median(list[k-2], list[k], list[k+2])
	}
	return median(of[0], of[1], of[2])
}

func median(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }

// below moves the values below a limit to the front, and returns how many there are.
func below(list []float64, limit float64) int {
	n := 0
	for i, x := range list { // without a branch, which would be mispredicted half of the time
		list[i], list[n] = list[n], x
		if x < limit {
			n++
		}
	}
	return n
}
