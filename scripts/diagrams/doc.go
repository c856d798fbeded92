// Command diagrams draws the two diagrams of docs/explanation as SVG: query.svg from query.txt, and packages.svg from
// the table of layers in internal/arch. Run it after a change to either; a test compares the files with its output.
//
//	go run ./scripts/diagrams
package main
