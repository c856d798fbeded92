// Command chaos runs `mlperf-go run` many times against servers with random faults, and judges every outcome by what
// the servers did. The same seed draws the same test: model, protocol, HTTP client, scenario, mode, faults, and the
// moment of a signal, a restart or a lost file.
//
//	chaos -runs 1000 -seed 7   1000 tests; the seed of each follows from 7 and its number
//	chaos -only 123            the one test of seed 123, whose folder is kept
//	chaos -runs 50 -match '\+http2'   50 tests over HTTP/2
//
// A test is one row of each table, protocols (protocols.go), faults (faults.go) and actions (actions.go), and some
// habits of its servers (draw.go). The server (server.go) writes its bytes itself and records every request and its
// answer (truth.go). The row of the data set determines its answer (rows.go), so each recorded answer is right or
// wrong. The judge (judge.go) compares the record, the request log, the accuracy log and the exit code with that
// truth.
//
// The judge requires:
//
//   - In a VALID run every sample has its own genuine answer, counted once, with the server's number of tokens.
//   - Every failed sample met a fault that explains its code, and every reason of the verdict has a cause.
//   - A test without a fault is VALID. Reasons that only a busy machine explains (client_lag, a limit, a timeout) are a
//     class of their own.
//   - The exit code follows the table of exit codes, run.json fits its schema, no process and no temporary file is
//     left, and the program ends in time without a crash.
//
// Some faults are invisible to every client and are not drawn (protocol.can in protocols.go):
//
//   - An answer of another request, or a late second copy of one, if the server returns no request id and the number of
//     prompt tokens does not differ: text prompts, no usage, or prompts of equal length.
//   - A lost or repeated part of a stream whose tokens the server neither numbers nor counts: a text-only answer with
//     the count of the whole answer.
//   - A wrong number of tokens in usage, if no token ids contradict it.
//   - Another model at an address, if neither the answers nor the list of models name it.
//
// Over HTTP/2 a gateway (gateway.go) is in front of each server, so that the same bytes reach the client in frames.
//
// Command chaos/workloads does the same with `mlperf-go bench run`, whose records are compared as sums.
//
// It imports nothing of the program under test: it uses only the files and exit codes that docs/ describes.
package main
