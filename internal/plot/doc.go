// Package plot draws histograms as SVG text or PNG pixels.
//
// Write takes panels, each a histogram with bins of equal width, a title and marks, and writes them one below the other
// to an io.Writer. The same code draws both formats on different canvases.
//
// It reads nothing, keeps no state and imports nothing of the project.
package plot
