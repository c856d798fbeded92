// Package results names the folders of runs without --output-dir. Each run gets a new folder named by the time, and a
// link named latest in the same parent folder points to the newest.
//
//	folder := results.New("results/llama3.1-8b-Server-performance", time.Now())
//	...
//	err := results.Point(folder)
//
// The link is replaced atomically. A file or link of that name that this package did not make is neither followed nor
// replaced.
//
// The package imports nothing of the project.
package results
