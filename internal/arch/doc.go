// Package arch contains the tests of rules that concern the whole module. Imports point down; nothing below cmd reads
// flags, environment or terminal; only the registry distinguishes benchmarks; every package documents what it owns; and
// README, docs and configs mention only features that the program has.
//
// Its input is the source of the whole module, read as text and syntax. Besides the tests it contains the table Layers,
// from which scripts/diagrams draws the packages. No other package may import it.
package arch
