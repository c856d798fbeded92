// Package ordering sorts lists of any type with one copy of the sort in the program.
//
// The functions of package slices are compiled anew for each type of element, about 12 kB each time. For lists of
// a few entries the quicker sort is not worth that (docs/reference/measurements.md, "Size of the program"). Long lists,
// such as the requests of a run, use package slices.
//
// It must not import any package of this module.
package ordering
