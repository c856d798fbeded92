// Command palette makes a screenshot small: it writes the picture with the 255 colours that most of its pixels have.
//
//	go run ./scripts/palette big.png small.png
package main
