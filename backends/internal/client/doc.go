// Package client chooses the HTTP client for a set of endpoints: http1's event loop for plain http, nethttp where one
// of them needs TLS or a proxy stands between.
//
// In come a Config and a wire protocol, out goes a backend; every driver opens its backends here, and the probe shows
// the name.
//
// It must not import a wire protocol, sut, run or cmd.
package client
