// Package simtest starts the simulator as a process in tests.
//
//	url := simtest.Start(t, program, "--ttft", "5ms") // until the end of the test
//
// Only tests import this package, and it imports nothing of the project: a test passes the program that it built.
package simtest
