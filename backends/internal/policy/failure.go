package policy

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// Failure is how one attempt failed.
type Failure struct {
	Reason backends.Reason
	Detail string
	Stale  bool          // a reused connection ended before the first byte of an answer
	Unseen bool          // the server stated that it did not process the request
	Again  bool          // another attempt may succeed
	Wait   time.Duration // what the server requested with Retry-After
}

// Absent reports whether the endpoint could not be reached: no connection was made, or a new one ended before the first
// byte.
func (f *Failure) Absent() bool {
	return f.Again && !f.Stale && !f.Unseen && (f.Reason == backends.FailConnect || f.Reason == backends.FailReset)
}

// Deadline is a limit in time, and the failure of exceeding it.
type Deadline struct {
	Reason backends.Reason
	Detail string
}

// Error returns the sentence about the failure.
func (d *Deadline) Error() string { return d.Detail }

// The deadlines of an attempt.
var (
	RequestOver = &Deadline{backends.FailRequestTimeout,
		"the answer was not complete within the request timeout (--request-timeout)"}
	FirstTokenOver = &Deadline{backends.FailFirstToken,
		"no output token came within the first-token timeout (--first-token-timeout)"}
	TokenOver = &Deadline{backends.FailBetweenTokens,
		"the answer stopped: no further output token came within the token timeout (--token-timeout)"}
)

// Explain returns one sentence about a failure of the transport.
func Explain(reason backends.Reason, err error) string {
	switch reason {
	case backends.FailCancelled:
		return "the test ended before the answer was complete"
	case backends.FailConnect:
		return fmt.Sprintf("no connection: %v", err)
	case backends.FailTLS:
		var proxy *ProxyTLSError
		if errors.As(err, &proxy) {
			return fmt.Sprintf("the TLS connection failed: %v. %s", err, proxy.Remedy())
		}
		return fmt.Sprintf("the TLS connection failed: %v", err)
	case backends.FailTruncated:
		return fmt.Sprintf("the connection ended inside the answer: %v", err)
	case backends.FailBadChunk:
		return fmt.Sprintf("the answer is not valid HTTP: %v", err)
	}
	return fmt.Sprintf("the connection broke: %v", err)
}

// Unsent is the detail of an answer that ended before the whole request was written.
const Unsent = "the answer ended before the whole request was written, so it does not answer this request"

// Response contains the fields of a header that decide whether the answer is accepted.
type Response struct {
	Status                         int
	Encoding, Location, RetryAfter string
}

// Refused reports whether the answer must not be read.
func (r *Response) Refused() bool {
	return r.Status != http.StatusOK || (r.Encoding != "" && r.Encoding != "identity")
}

// repeatable are the statuses of failures that may end soon.
var repeatable = map[int]bool{
	http.StatusTooManyRequests: true, http.StatusBadGateway: true,
	http.StatusServiceUnavailable: true, http.StatusGatewayTimeout: true,
}

// Refusal returns why a response was refused. body is the beginning of its body.
func (r *Response) Refusal(body []byte, now time.Time) Failure {
	if r.Status == http.StatusOK {
		return Failure{Reason: backends.FailBadJSON,
			Detail: fmt.Sprintf("the answer has the Content-Encoding %.32q although identity was requested", r.Encoding)}
	}
	f := Failure{
		Reason: backends.Reason("http_" + strconv.Itoa(r.Status)),
		Detail: fmt.Sprintf("the server answered HTTP %d", r.Status),
		Again:  repeatable[r.Status], Wait: retryAfter(r.RetryAfter, now),
	}
	if r.Location != "" && r.Status/100 == 3 {
		f.Detail += fmt.Sprintf(" to %.200q, which is not followed: pass the address of the server itself", r.Location)
	} else if len(body) > 0 {
		f.Detail += ": " + foreign.Line(strings.TrimSpace(string(body)), 300)
	}
	return f
}

// retryAfter parses a Retry-After header, seconds or a date; 0: the header is missing or invalid.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), 24*3600)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
