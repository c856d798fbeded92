// Package arch holds the tests of what no single package can test: that imports point down, that nothing below cmd
// reads flags, environment or terminal, that only the registry distinguishes benchmarks, that every package documents
// what it owns, and that README, docs and configs mention only what the program really has.
//
// Its input is the source of the whole module, read as text and syntax. Beside the tests it has one table, Layers,
// from which scripts/diagrams draws the packages. No other package may import it.
package arch
