package policy

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
)

func TestRetries(t *testing.T) {
	stale := Lost(backends.FailReset, "", false, true)
	again := Lost(backends.FailConnect, "", false, false)
	r := NewRetries(2)
	wait, ok := r.Next(&stale, time.Hour)
	require.True(t, ok)
	require.Zero(t, wait, "a dead reused connection is replaced at once")
	_, ok = r.Next(&stale, time.Hour)
	require.True(t, ok, "the second one costs a retry")
	wait, ok = r.Next(&again, time.Hour)
	require.True(t, ok)
	require.Equal(t, 2*firstPause, wait)
	_, ok = r.Next(&again, time.Hour)
	require.False(t, ok, "no attempt is left")
	r = NewRetries(5)
	_, ok = r.Next(&again, time.Millisecond)
	require.False(t, ok, "it would begin after the deadline")
	over := Lost(backends.FailReset, "", true, true)
	_, ok = r.Next(&over, time.Hour)
	require.False(t, ok, "the answer had begun")
	asked := Failure{Again: true, Wait: time.Minute}
	wait, ok = r.Next(&asked, time.Hour)
	require.True(t, ok)
	require.Equal(t, time.Minute, wait)
	unseen := Failure{Reason: backends.FailReset, Again: true, Unseen: true}
	r = NewRetries(1)
	for range maxUnseen {
		wait, ok = r.Next(&unseen, time.Hour)
		require.True(t, ok && wait == 0, "the server asks for it by another connection")
	}
	wait, ok = r.Next(&unseen, time.Hour)
	require.True(t, ok)
	require.Equal(t, firstPause, wait, "then it costs a retry")
	_, ok = r.Next(&unseen, time.Hour)
	require.False(t, ok)
	none := NewRetries(0)
	_, ok = none.Next(&again, time.Hour)
	require.False(t, ok)
}

// Only failures to reach an endpoint count against it.
func TestAbsent(t *testing.T) {
	for want, list := range map[bool][]Failure{
		true: {Lost(backends.FailConnect, "", false, false), Lost(backends.FailReset, "", false, false)},
		false: {
			Lost(backends.FailReset, "", false, true), Lost(backends.FailReset, "", true, false),
			Lost(backends.FailTLS, "", false, false),
			Lost(backends.FailFirstToken, "", false, false), {Reason: "http_503", Again: true},
			{Reason: backends.FailReset, Again: true, Unseen: true},
		},
	} {
		for _, f := range list {
			require.Equal(t, want, f.Absent(), f)
		}
	}
}

func TestRefusal(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		r      Response
		reason backends.Reason
		again  bool
		wait   time.Duration
		text   string
	}{
		{Response{Status: 503, RetryAfter: "7"}, "http_503", true, 7 * time.Second, "HTTP 503: busy"},
		{Response{Status: 429, RetryAfter: now.Add(time.Minute).Format(http.TimeFormat)}, "http_429", true, time.Minute, ""},
		{Response{Status: 503, RetryAfter: "-5"}, "http_503", true, 0, ""},
		{Response{Status: 503, RetryAfter: "999999999"}, "http_503", true, 24 * time.Hour, ""},
		{Response{Status: 503, RetryAfter: "soon"}, "http_503", true, 0, ""},
		{Response{Status: 500}, "http_500", false, 0, ""},
		{Response{Status: 400}, "http_400", false, 0, ""},
		{Response{Status: 307, Location: "http://b/"}, "http_307", false, 0, `to "http://b/", which is not followed`},
		{Response{Status: 200, Encoding: "gzip"}, backends.FailBadJSON, false, 0, `"gzip" although identity was requested`},
	} {
		require.True(t, c.r.Refused())
		f := c.r.Refusal([]byte(" busy\n"), now)
		require.Equal(t, []any{c.reason, c.again, c.wait}, []any{f.Reason, f.Again, f.Wait}, c.r)
		require.Contains(t, f.Detail, c.text)
	}
	for _, r := range []Response{{Status: 200}, {Status: 200, Encoding: "identity"}} {
		require.False(t, r.Refused())
	}
}

func TestEndpoints(t *testing.T) {
	e, err := NewEndpoint(backends.Endpoint{URL: "http://h:1/p", APIKey: "k3y"}, "/v1/completions")
	require.NoError(t, err)
	require.Equal(t, []string{"http://h:1/p/v1/completions", "h:1", "http://h:1/p/v1/completions"},
		[]string{e.URL.String(), e.Host, e.String()})
	a := e.Record(loadgen.Query{}, 0, &Failure{Reason: "http_401", Detail: "who is k3y"}, []byte("k3y?"), false, 1)
	require.Equal(t, "POST http://h:1/p/v1/completions: who is [key]", a.Detail)
	require.Equal(t, "[key]?", string(a.Body))
	long, err := NewEndpoint(backends.Endpoint{URL: "http://h:1", APIKey: "sk-0123456789"}, "/v1")
	require.NoError(t, err)
	for text, want := range map[string]string{
		"": "", "nothing of it": "nothing of it", "sk-": "sk-", "a sk-0123456789 b": "a [key] b", "a sk-012345678": "a [key]",
		"a sk-0...": "a [key]", "sk-0123456789sk-01": "[key][key]", "a sk-0123...b": "a sk-0123...b",
		"a SK-0123456789 Sk-0123456789": "a [key] [key]", "a Sk-01...": "a [key]",
	} {
		require.Equal(t, want, string(long.Redact([]byte(text))), text)
	}
	e, err = NewEndpoint(backends.Endpoint{URL: "unix:///run/s"}, "/v1")
	require.NoError(t, err)
	require.Equal(t, []string{"localhost", "unix:///run/s /v1"}, []string{e.Host, e.String()})
	_, err = NewEndpoint(backends.Endpoint{URL: "unix:///run/s", APIKey: "a\nb"}, "/v1")
	require.ErrorContains(t, err, "control character")
	require.NotContains(t, err.Error(), "a\nb")
}

func TestDefaultsAndKeep(t *testing.T) {
	c := &backends.Config{
		Endpoints: make([]backends.Endpoint, 2),
		Dispatch:  backends.Dispatch{PerEndpoint: 3, Balance: "hash"},
		Deadlines: backends.Deadlines{RequestTimeout: time.Minute},
	}
	SetDefaults(c)
	require.Equal(t, []time.Duration{time.Minute, time.Minute, defaultConnect, defaultEndpoint},
		[]time.Duration{c.FirstTokenTimeout, c.TokenTimeout, c.ConnectTimeout, c.EndpointTimeout})
	require.EqualValues(t, 7, c.Key(7))
	o, err := Balance(c)
	require.NoError(t, err)
	require.Equal(t, []int{2, 3}, []int{o.Endpoints, o.PerEndpoint})
	c.Balance = "fastest"
	_, err = Balance(c)
	require.ErrorContains(t, err, `the client cannot be set up: load balancing "fastest" is not known`)
	kept := Keep(nil, make([]byte, 1000))
	kept = Keep(kept, make([]byte, answerHead-1-len(kept)))
	require.Len(t, kept, answerHead-1)
	kept = Keep(kept, make([]byte, 1000))
	require.Len(t, kept, answerHead)
	require.Len(t, Keep(kept, make([]byte, 1)), answerHead)
}

// An answer after interim answers and empty lines is an unasked answer. Interim answers alone are not.
func TestUnexpectedBytes(t *testing.T) {
	const interim, answer = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	for b, want := range map[string][2]int64{
		answer: {1, 0}, interim + answer: {1, 0}, "\r\n" + interim + interim + "\r\n" + answer: {1, 0},
		"HTTP/1.0 500 x": {1, 0},
		"x":              {0, 1}, "\r\n\r\nx": {0, 1}, interim + "x": {0, 1}, "HTTP/2": {0, 1},
		"": {}, "\r\n\r\n": {}, interim: {}, interim + interim: {}, "HTTP/1.1 100 Con": {},
		"HTTP/1.1 408 Request Timeout\r\n\r\n": {},
	} {
		c := &Counters{}
		require.Equal(t, want[0] > 0, c.Unexpected([]byte(b)), "%q", b)
		counted := c.Traffic()
		require.Equal(t, want, [2]int64{counted.Unasked, counted.Strays}, "%q", b)
	}
}
