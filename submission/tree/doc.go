// Package tree lays a campaign's runs out as a submission of one round.
//
// In come a campaign's folder (submission/layout), a description (submission/describe) and what the machine says of
// itself. Out goes the tree: results with logs, scores, audits and user.conf as the runs left them, and the documents
// made of the records and the words. It is written aside and appears whole under its name; what an interrupted build
// had written counts.
//
// Nothing invalid is packed: a run without a record, not VALID, altered since, of another test, with another round's
// seeds, or a rehearsal where a submission was asked for, is refused by name with its reason, and then nothing is
// written. Open takes scores below the target and needs no audits (docs/reference/submission-rules.md#divisions). A
// rehearsal's tree says so in each document.
//
// It starts no process, judges no tree (that is check), prints nothing and must not import cmd.
package tree
