// Package pyrepr writes numbers as Python prints them and reads them as Python reads them.
//
// The official checkers, scorers and audits are Python programs. What is compared with their files to the byte has
// their notation (1.0, 1e-05, inf, nan), and what they read from a file may have it too (1_000, infinity).
//
// In comes a number and out goes its text, or the other way round. It keeps no state, does no I/O and imports nothing
// of the project.
package pyrepr
