// Package httpclient makes the HTTP clients of everything but the test itself: the tokenizer of a server, the hub of
// models, the health of servers that this program started. The test's own client is backends/internal/nethttp.
//
//	client := httpclient.New(httpclient.Options{Timeout: time.Minute})
//
// The rules are in one place. No proxy is taken from the environment. No redirect is followed unless Options allows it,
// and then only to an address that nobody between can change, without the Authorization where the host is another.
// Bodies are bounded by ReadBody.
//
// It imports nothing of the project.
package httpclient
