// Package layout is where things lie: in a campaign's folder, and in the submission tree of each round.
//
// It owns names and nothing else. In come the nouns of a submission (round, division, submitter, system, benchmark,
// scenario, audit); out go paths. What a campaign writes, what the builder lays out, what truncation cuts and what the
// checker reads all take their paths from here, so that a name is written once.
//
// Paths in a tree are relative to its root and have slashes, as the organisers' tools print them; paths in a campaign's
// folder are of the machine's file system. Sources: docs/reference/submission-rules.md#the-tree and
// docs/reference/runs.md#files.
//
// It opens no file, keeps no state, and must not import run, cmd or another package of this room.
package layout
