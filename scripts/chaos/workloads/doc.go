// Command workloads runs `mlperf-go bench run` against servers with random faults, as command chaos does with
// `mlperf-go run`, and judges every record by what the servers logged.
//
//	workloads -runs 40 -seed 7   40 tests; the seed of each follows from 7 and its number
//	workloads -only 123          the one test of seed 123, whose folder is kept
//
// A test draws the profile (arrivals, lengths, number of requests; single requests, conversations or recorded
// sessions), the servers (over HTTP, HTTPS or HTTP/2), retries, event loops, the faults of single requests (faults in
// server.go) and at most one event of the whole test: a signal, or a server that dies. Each server logs what it did
// with every request. The judge (judge.go) requires of a test:
//
//   - As many requests are OK as the servers answered in full, with as many output tokens; all others failed, each by a
//     cause that its fault explains.
//   - In conversations and sessions, each prompt has the answers that its session had before, and no others.
//   - VALID means that no request failed, and the exit code is that of the verdict.
//   - After SIGKILL, `mlperf-go show` reports an INTERRUPTED run with what was answered until a second before.
//   - The record fits its schema, and the program ends in time without a crash.
//
// It imports nothing of the program under test.
package main
