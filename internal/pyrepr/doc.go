// Package pyrepr writes numbers as Python prints them.
//
// The official checkers, scorers and audits are Python programs, and what is compared with their files to the byte has their
// notation: 1.0, 1e-05, inf, nan.
//
// In comes a number, out goes its text. It keeps no state, does no I/O and imports nothing of the project.
package pyrepr
