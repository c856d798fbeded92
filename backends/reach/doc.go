// Package reach tests whether an endpoint can be reached, on the same route as a test: TCP or a Unix socket, TLS, a
// proxy. The probe (backends.Driver) finds out what the server is and what it supports.
//
// It must not import a wire protocol, sut, run or cmd.
package reach
