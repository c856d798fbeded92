// Package wiretest contains the contract of an HTTP client as tests, which http1 and nethttp both run: Contract.
//
// It also contains what the tests of clients and protocols share: raw servers that send scripted bytes (Raw, Naming,
// Canned), queries and sinks in memory (Queries, Recorder, Closed), and tables of good and bad answers (Goods,
// Failures).
//
//	contract := wiretest.Contract{Open: open}
//	contract.Run(t)
//
// Only tests import it.
package wiretest
