// Package dial connects to endpoints, over TCP or a Unix socket.
//
// It owns how the URL of an endpoint names its socket, what net/http's transport dials with, and the tries by which an
// endpoint that was left out is found to be back.
//
// In come URLs as policy.Endpoint has them, out go connections.
//
// It must not import any client or wire protocol, and reads no environment.
package dial
