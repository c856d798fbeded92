// Package httpclient makes the HTTP clients for everything but the test itself: a server's tokenizer, the model hub,
// the health of servers that the program started. The test's own clients are in backends/internal.
//
//	client := httpclient.New(httpclient.Options{Timeout: time.Minute})
//
// All clients follow these rules. They ignore proxies from the environment. They follow a redirect only if Options
// allows it, only to https or to this machine, and without the Authorization header if the host differs. ReadBody
// bounds bodies.
//
// It imports nothing of the project.
package httpclient
