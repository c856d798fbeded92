// Package check says whether a submission tree is one that the organisers' checker accepts, and what a reviewer would
// refuse.
//
// It owns the rules as one table (Rules), its constants (rounds.yaml beside what the models registry has), and one loop
// that walks the table over the tree: root, division, submitter, system, benchmark, scenario folder. In comes the root
// of a tree of round v5.1, v6.0 or v6.1; out goes a Report: every scenario folder with its metric, every finding with
// what to do about it, and writers for text, JSON, the organisers' summary CSV and the final report's JSON.
//
// Compat gives the current official checker's verdict without its crashes; Strict adds what the older checker and the
// rules text ask, and what both miss (docs/reference/submission-rules.md). docs/reference/checks.md lists every rule,
// and where Compat deviates. Files are opened only where they are plain ones, relative to the opened root, read as
// streams and to a bound each. Links are followed inside of the tree, no deeper than it has levels, and never out of
// it.
//
// It changes no file, prints nothing and must not import cmd or run.
package check
