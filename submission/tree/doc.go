// Package tree builds the submission tree of a round from the runs of a campaign.
//
// Build reads a campaign's folder (submission/layout), a description (submission/describe) and the facts of the
// machine. It copies logs, scores, audits and user.conf of each run unchanged, and generates the documents. The tree is
// written under a temporary name and renamed when it is complete; a later build continues an interrupted one.
//
// Build refuses invalid runs and then writes nothing: a run without a record, not VALID, altered, of another test or
// round, with wrong seeds, or a rehearsal unless a rehearsal's tree is built. The error, a Refusal, lists all of them
// with reasons. The open division accepts scores below the target and needs no audits
// (docs/reference/submission-rules.md#divisions). Each document of a rehearsal's tree is marked as such.
//
// The package starts no process and prints nothing. It does not check the finished tree (see submission/check) and must
// not import cmd.
package tree
