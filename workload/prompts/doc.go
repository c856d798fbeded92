// Package prompts makes the requests of a workload: what is sent, and what each call of a session waits for.
// Package schedule computes when they are sent.
//
//	src, err := prompts.Open(p, prompts.Options{Vocabulary: 32000})
//	calls, err := src.Calls(7)    // of the session 7: a single request has one
//	err = src.Request(7, 0, &req) // its first call
//
// A Source is a pure function of the profile and its seed. So two runs of a profile send the same requests, whatever
// the number of goroutines that ask for them.
//
// The package sends nothing, prints nothing, and must not import run, backends or cmd.
package prompts
