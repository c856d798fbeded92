// Package wiretest is the contract of an HTTP client as tests: a raw server that says what a script says, byte for
// byte, a source and a sink in memory, tables of answers and of what becomes of them, and tests that any client has to
// pass.
//
// In comes a function that opens a client; out go test results. Only tests import it.
package wiretest
