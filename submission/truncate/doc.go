// Package truncate shortens the accuracy logs of a submission tree and records the hashes of the whole logs.
//
// Tree truncates every accuracy log of a submitter to its first and last 4096 bytes around "...", and writes the line
// hash=<SHA-256> to accuracy.txt (docs/reference/submission-rules.md#truncation). It copies each original to a backup
// folder outside the tree first, and returns a Target per log.
//
// A log is hashed only once: if accuracy.txt has the hash of another log, Tree refuses the log. After a crash between
// the steps (copy, hash, truncate), call Tree again. Files are written atomically, copies are read back, and links in
// the tree and the backup are not followed.
//
// The package parses no log, prints nothing and must not import cmd.
package truncate
