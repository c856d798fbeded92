// Package truncate shortens the accuracy logs of a submission tree and writes the hash of the whole log beside them.
//
// It owns the organisers' form of a truncated log: the first and the last 4096 bytes around "...", and the line
// hash=<SHA-256> in accuracy.txt. In comes the root of a tree whose logs are whole, a submitter and a backup folder
// outside of the tree; out goes one Target per log, with what was done. Every original is in the backup before its file
// changes.
//
// A log is hashed once: where accuracy.txt holds another hash already, the log is refused. A death between the steps
// (copy, hash, cut) is repaired by calling again. Files are streamed and written whole or not at all, each copy is read
// back, and no link in the tree or the backup is followed.
//
// It reads no LoadGen format, prints nothing and must not import cmd. Form:
// docs/reference/submission-rules.md#truncation.
package truncate
