// Package plot draws histograms and curves as SVG text or PNG pixels.
//
// Write draws panels, each a histogram with bins of equal width or a bar per word, and writes them one below the other
// to an io.Writer. WriteCharts does the same with charts of curves and limits. The same code draws both formats on
// different canvases.
//
// It reads nothing, keeps no state and imports nothing of the project.
package plot
