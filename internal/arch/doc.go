// Package arch holds the tests of what no single package can test: that imports point down, that nothing below cmd
// reads flags, environment or terminal, that benchmarks are told apart in the registry only, that every package says
// what it owns, and that README, docs and configs speak of what the program really has.
//
// In comes the source of the whole module, read as text and syntax; nothing goes out. There is no code
// here beside tests, and no package may import this one.
package arch
