// Package layout defines the paths in a campaign's folder and in the submission tree of each round.
//
// Submitter and Scenario return the paths in a tree, relative to its root and with slashes; Leaf returns those in a
// campaign's folder. The campaign, the tree builder, truncation and the checker all use these paths, so that each name
// is defined once. Sources: docs/reference/submission-rules.md#the-tree and docs/reference/runs.md#files.
//
// The package opens no file, has no state, and must not import run, cmd or other packages of submission.
package layout
