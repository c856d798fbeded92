// Package pyrepr formats and parses numbers like Python, and strips texts like Python.
//
// The official checkers, scorers and audits are Python programs. Output that must equal theirs byte for byte uses
// Python's notation (1.0, 1e-05, inf, nan), and their input files may use it too (1_000, infinity).
//
// It keeps no state, does no I/O and imports nothing of the project.
package pyrepr
