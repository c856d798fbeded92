package nethttp

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// classify returns the failure code of an error of the transport. began is set if the response had begun: the end of
// the connection is then a truncated answer.
func classify(ctx context.Context, err error, began bool) backends.Reason {
	var late *policy.Deadline
	if cause := context.Cause(ctx); errors.As(cause, &late) {
		return late.Reason
	} else if cause != nil {
		return backends.FailCancelled
	}
	for _, rule := range rules {
		if rule.is(err) {
			if began && rule.began != "" {
				return rule.began
			}
			return rule.reason
		}
	}
	return backends.FailReset
}

// rules are tried in order. began is the reason within a response, if it differs.
var rules = []struct {
	is     func(error) bool
	reason backends.Reason
	began  backends.Reason
}{
	{is: policy.IsTLS, reason: backends.FailTLS},
	{is: isDial, reason: backends.FailConnect},
	{is: textOf("malformed chunked", "invalid byte in chunk length", "chunk length too large", "chunked encoding",
		"chunked line", "too much overhead", "header line too long", "empty hex number"), reason: backends.FailBadChunk},
	{is: textOf("malformed HTTP", "malformed MIME", "invalid header", "transfer encoding", "Content-Length",
		"server response headers exceeded"), reason: backends.FailBadChunk},
	{is: isErrno(syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED), reason: backends.FailReset},
	{is: isEOF, reason: backends.FailReset, began: backends.FailTruncated},
	{is: isErrno(syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ETIMEDOUT, syscall.EADDRNOTAVAIL,
		syscall.EMFILE, syscall.ENFILE), reason: backends.FailConnect, began: backends.FailReset},
}

func isDial(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return byTheProxy(err) || (errors.As(err, &op) && op.Op == "dial") || errors.As(err, &dns)
}

func isEOF(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		textOf("server closed idle connection", "unexpected EOF reading trailer", "suspiciously long trailer")(err)
}

// isUnseen reports whether a server of HTTP/2 cannot have processed the request: it stated so, because it ends the
// connection gracefully or refuses the stream, or the connection took no request any more. net/http would repeat it,
// but has no body to do so.
var isUnseen = textOf("http2: Transport: cannot retry err ", "net/http: cannot rewind body after connection loss")

func isErrno(numbers ...syscall.Errno) func(error) bool {
	return func(err error) bool {
		for _, n := range numbers {
			if errors.Is(err, n) {
				return true
			}
		}
		return false
	}
}

// textOf matches errors of net/http that have no type of their own.
func textOf(parts ...string) func(error) bool {
	return func(err error) bool {
		text := err.Error()
		for _, part := range parts {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}
}
