// Package client chooses the HTTP client for a set of endpoints: http1's event loop, or nethttp if HTTP/2 was requested
// and an endpoint uses TLS. All drivers open their backends here.
//
// It must not import a wire protocol, sut, run or cmd.
package client
