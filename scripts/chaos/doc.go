// Command chaos runs `mlperf-go run` many times against servers with random faults, and judges every outcome by what
// the servers did. The same seed draws the same test: model, protocol, HTTP client, scenario, mode, faults, and the
// moment of a signal, a restart or a lost file.
//
//	chaos -runs 1000 -seed 7   1000 tests; the seed of each follows from 7 and its number
//	chaos -only 123            the one test of seed 123, whose folder is kept
//
// A test is one row of each table: protocols (protocols.go), faults (faults.go), actions (actions.go) and habits
// (habits.go). The server (server.go) writes its bytes itself, records every request that it got and what it sent for
// it (truth.go). The answer to a row of the data set is fixed by the row (rows.go), so that each recorded answer is
// right or wrong. The judge (judge.go) compares the record, the request log, the accuracy log and the exit code with
// that truth.
//
// What the judge wants:
//
//   - VALID means that every sample has its own genuine answer, counted once, with the server's number of tokens.
//   - Every failed sample met a fault that explains its code, and every reason of the verdict has a cause.
//   - A test without a fault is VALID. What only a busy machine can explain (client_lag, a limit, a timeout) is a class of its own.
//   - The exit code is that of the table of exit codes, run.json fits its schema, no process and no temporary file is left, and
//     the program ends in time without a crash.
//
// No client can notice some faults, so they are not drawn (protocol.can in protocols.go):
//
//   - An answer of another request, or a late second copy of one, where the server returns no request id and where the number of
//     prompt tokens does not give it away: text prompts, no usage, or prompts of equal length.
//   - A lost or repeated part of a stream whose tokens the server neither numbers nor counts: an answer of text alone, where the
//     server's own count says what the whole answer has.
//   - Another number of tokens in usage, where no token ids came to compare it with.
//   - Another model behind an address, where neither the answers nor the list of models name it.
//
// It imports nothing of the program that it tests: it knows only the files and exit codes that docs/ describes.
package main
