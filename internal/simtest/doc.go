// Package simtest starts the simulator as a process in tests, and puts a gateway before it.
//
//	url := simtest.Start(t, program, "--ttft", "5ms") // until the end of the test
//
// Forward passes requests on to it, for a test that changes or counts them on their way.
//
// Only tests import this package, and it imports nothing of the project: a test passes the program that it built.
package simtest
