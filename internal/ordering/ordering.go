package ordering

import "sort"

// Sort sorts a list in place. Elements that compare as equal keep their order. The comparison returns a negative number
// if a comes before b, a positive one if it comes after b, and 0 otherwise.
func Sort[E any](list []E, compare func(a, b E) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}
