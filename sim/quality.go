package sim

import (
	"math"

	"github.com/mlperf-go/mlperf-go/models"
)

// rightRows marks the rows of the data set that the simulated model answers right: the share quality of every subset,
// spread evenly, so that the first N rows have the same share as the whole.
//
// A repeated prompt gets the answer of its first row, which first returns. Whether a row is right depends only on the
// seed, the quality and the rows before it, not on the order of requests.
func rightRows(refs []models.Reference, first []int32, quality float64, seed uint64) []bool {
	right := make([]bool, len(refs))
	seen := map[string]float64{} // rows so far, by subset
	for i := range refs {
		if int(first[i]) != i {
			right[i] = right[first[i]]
			continue
		}
		subset := refs[i].Subset + "\x00" + refs[i].Metric
		rank := seen[subset]
		seen[subset]++
		offset := float64(mix(seed^hashText(subset))>>11) / (1 << 53)
		right[i] = math.Floor((rank+1)*quality+offset) > math.Floor(rank*quality+offset)
	}
	return right
}

// hashText is a 64-bit hash of a text that is the same in every process (FNV-1a, finished by mix).
func hashText(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return mix(h)
}
