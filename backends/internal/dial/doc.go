// Package dial connects to endpoints over TCP or a Unix socket. It defines how the URL of an endpoint names its socket,
// the dial function of net/http's transports, and the attempts that find out whether an excluded endpoint is back.
//
// It must not import a client or a wire protocol, and reads no environment.
package dial
