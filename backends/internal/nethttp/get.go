package nethttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/dial"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// maxReply bounds the body of a probe's answer, in bytes.
const maxReply = 4 << 20

// Reply is the answer to a Get.
type Reply struct {
	URL    string
	Status int
	Header http.Header
	Body   []byte // at most 4 MiB
}

// Get sends a GET request to an endpoint on a new connection and follows no redirect. The error is a
// *backends.EndpointError.
func Get(ctx context.Context, c *backends.Config, e backends.Endpoint, path string, timeout time.Duration) (*Reply,
	error) {
	return ask(ctx, c, e, http.MethodGet, path, timeout)
}

// Post is Get with the method POST and without a body.
func Post(ctx context.Context, c *backends.Config, e backends.Endpoint, path string, timeout time.Duration) (*Reply,
	error) {
	return ask(ctx, c, e, http.MethodPost, path, timeout)
}

func ask(ctx context.Context, c *backends.Config, e backends.Endpoint, method, path string,
	timeout time.Duration) (*Reply, error) {
	config := *c
	policy.SetDefaults(&config)
	target, err := newEndpoint(e, path)
	if err != nil {
		return nil, &backends.EndpointError{URL: e.URL, Fault: backends.FaultUnreachable, Text: err.Error(), Err: err}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout,
		&policy.Deadline{Reason: backends.FailRequestTimeout, Detail: fmt.Sprintf("no answer within %s", timeout)})
	defer cancel()
	counters := &policy.Counters{}
	transport, err := newTransport(&config, counters, true)
	if err != nil {
		return nil, &backends.EndpointError{URL: e.URL, Fault: backends.FaultTLS, Text: err.Error(), Err: err}
	}
	defer transport.CloseIdleConnections()
	request := (&http.Request{
		Method: method, URL: target.URL, Host: target.Host, Header: target.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	reply := &Reply{URL: target.String()}
	if c.Asking != nil {
		c.Asking(method+" "+reply.URL, timeout)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		// the guard has hidden from net/http what came before the request
		if t := counters.Traffic(); t.Unasked+t.Strays > 0 {
			err = errNoHTTP
		}
		return nil, unreachable(ctx, method, reply.URL, err)
	}
	defer response.Body.Close()
	reply.Status, reply.Header = response.StatusCode, response.Header
	if reply.Body, err = io.ReadAll(io.LimitReader(response.Body, maxReply)); err != nil {
		return nil, unreachable(ctx, method, reply.URL, err)
	}
	reply.Body = target.Redact(reply.Body) // messages quote it
	return reply, nil
}

var errNoHTTP = errors.New("the server sent bytes that are not an HTTP answer")

// byTheProxy reports whether the proxy, or the connection to it, failed.
func byTheProxy(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == byProxy
}

func unreachable(ctx context.Context, method, url string, err error) error {
	fault, try := backends.FaultUnreachable, "Check host and port, and that the server has finished loading"
	reason := classify(ctx, err, false)
	var late *policy.Deadline
	var proxy *policy.ProxyTLSError
	what, check := dial.Unresolved(err)
	switch {
	case what != "":
		err, try = fmt.Errorf("%s", what), check
	case errors.As(err, &proxy):
		fault, err, try = backends.FaultTLS, proxy, proxy.Remedy()
	case reason == backends.FailTLS:
		fault, try = backends.FaultTLS, policy.EndpointTLSRemedy(err)
	case byTheProxy(err):
		try = "Check --proxy: that the proxy runs there and can reach the endpoint"
	case errors.As(context.Cause(ctx), &late):
		err = late
	case errors.Is(err, errNoHTTP), strings.Contains(err.Error(), "malformed HTTP"):
		err = errNoHTTP
		try = "Check that the port is the inference server's and not another service's"
	case errors.Is(err, io.EOF):
		err = errors.New("the server closed the connection without an answer (EOF)")
		fallthrough
	case errors.Is(err, syscall.ECONNRESET):
		if strings.HasPrefix(url, "http:") {
			try = "Check whether the server expects https on this port or is still loading"
		}
	}
	return &backends.EndpointError{
		URL: url, Fault: fault, Err: err,
		Text: fmt.Sprintf("%s %s failed: %v. %s", method, url, err, try),
	}
}
