package policy

import (
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
	Again  bool          // another attempt may heal it
	Wait   time.Duration // what the server asked for with Retry-After
}

// Absent says that the endpoint was not there: no connection, or one that ended before the first byte and was not
// reused.
func (f *Failure) Absent() bool {
	return f.Again && !f.Stale && (f.Reason == backends.FailConnect || f.Reason == backends.FailReset)
}

// Deadline is a limit in time and what its end means.
type Deadline struct {
	Reason backends.Reason
	Detail string
}

// Error is the sentence.
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

// Explain is one sentence on a failure of the transport.
func Explain(reason backends.Reason, err error) string {
	switch reason {
	case backends.FailCancelled:
		return "the test ended before the answer was complete"
	case backends.FailConnect:
		return fmt.Sprintf("no connection: %v", err)
	case backends.FailTLS:
		return fmt.Sprintf("no TLS connection: %v", err)
	case backends.FailTruncated:
		return fmt.Sprintf("the connection ended inside the answer: %v", err)
	case backends.FailBadChunk:
		return fmt.Sprintf("the answer is no proper HTTP: %v", err)
	}
	return fmt.Sprintf("the connection broke: %v", err)
}

// Unsent is the detail of an answer that ended before its request was written whole.
const Unsent = "the answer ended before its request was written whole: whatever it answers, it is not this request"

// Response is what of a response's header decides whether it is read.
type Response struct {
	Status                         int
	Encoding, Location, RetryAfter string
}

// Refused tells whether a response is none that can be read.
func (r *Response) Refused() bool {
	return r.Status != http.StatusOK || (r.Encoding != "" && r.Encoding != "identity")
}

// repeatable are the statuses that may be over soon.
var repeatable = map[int]bool{
	http.StatusTooManyRequests: true, http.StatusBadGateway: true,
	http.StatusServiceUnavailable: true, http.StatusGatewayTimeout: true,
}

// Refusal says why a response was refused; body is the beginning of what came with it.
func (r *Response) Refusal(body []byte, now time.Time) Failure {
	if r.Status == http.StatusOK {
		return Failure{Reason: backends.FailBadJSON,
			Detail: fmt.Sprintf("the answer came with Content-Encoding %.32q, identity was asked for", r.Encoding)}
	}
	f := Failure{
		Reason: backends.Reason("http_" + strconv.Itoa(r.Status)),
		Detail: fmt.Sprintf("the server answered HTTP %d", r.Status),
		Again:  repeatable[r.Status], Wait: retryAfter(r.RetryAfter, now),
	}
	if r.Location != "" && r.Status/100 == 3 {
		f.Detail += fmt.Sprintf(" to %.200q, which is not followed: give the address that answers itself", r.Location)
	} else if len(body) > 0 {
		f.Detail += ": " + foreign.Line(strings.TrimSpace(string(body)), 300)
	}
	return f
}

// retryAfter reads a Retry-After header, seconds or a date; 0: none.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), 24*3600)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
