// Package plot draws histograms as SVG text or PNG pixels.
//
// In: panels, each the counts of ranges of equal size with a title and marks. Out: a file's bytes, written to an
// io.Writer; panels stand one below the other. Both formats are drawn by the same code on a canvas of their own.
//
// It reads nothing, keeps no state and imports nothing of the project.
package plot
