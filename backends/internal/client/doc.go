// Package client chooses the HTTP client for a set of endpoints: http1's event loop for plain HTTP, nethttp if an
// endpoint needs TLS or a proxy is used. All drivers open their backends here.
//
// It must not import a wire protocol, sut, run or cmd.
package client
