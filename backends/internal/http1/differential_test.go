package http1_test

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

func openReference(c *backends.Config) (backends.Backend, error) {
	p, err := protocol(c)
	if err != nil {
		return nil, err
	}
	return nethttp.New(c, p)
}

var reference = wiretest.Contract{Open: openReference}

// tale is what a client made of a server, without what the clock and the port have in it.
type tale struct {
	Outcome  backends.Outcome
	First    []int32
	Firsts   int
	Gaps     int
	Attempts []string
}

func taleOf(r *wiretest.Recorder) tale {
	o := r.Results[1].Outcome
	if o.SentNS >= o.TriedNS && o.TriedNS > 0 && o.DequeuedNS > 0 {
		o.SentNS, o.TriedNS, o.DequeuedNS = 1, 1, 1
	}
	o.ReadableNS = 0 // net/http does not know it
	o.ChoiceNS = 0   // kept only if the first token comes with later bytes
	for _, at := range []*int64{&o.FirstByteNS, &o.FirstTokenNS, &o.VisibleNS, &o.LastTokenNS} {
		*at = min(*at, 1)
	}
	t := tale{Outcome: o, First: r.Results[1].First, Firsts: r.Results[1].FirstCalls, Gaps: r.Gaps}
	for _, a := range r.Attempts {
		t.Attempts = append(t.Attempts, fmt.Sprintf("%s retried=%v", a.Reason, a.Retried))
	}
	return t
}

// same drives both clients with servers of the same script, and compares everything but times and the words of errors.
func same(t require.TestingT, tb *testing.T, set func(*backends.Config), script func() wiretest.Script) {
	ask := func(k *wiretest.Contract) *wiretest.Recorder {
		c := wiretest.Config(wiretest.Raw(tb, script()))
		c.KeepText = true
		if set != nil {
			set(c)
		}
		return k.Ask(t, c, 1)
	}
	ours, theirs := ask(&contract), ask(&reference)
	require.Equal(t, taleOf(theirs), taleOf(ours))
	for i, a := range ours.Attempts {
		long, short := theirs.Attempts[i].Body, a.Body
		if len(long) < len(short) {
			long, short = short, long
		}
		require.True(t, bytes.HasPrefix(long, short), "%q and %q", short, long)
	}
}

func TestSameAsNetHTTP(t *testing.T) {
	for _, c := range wiretest.Failures() {
		if c.Name == "tokens for ever" {
			continue // how many came before the deadline is chance
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			same(t, t, c.Set, func() wiretest.Script { return c.Script })
		})
	}
	for name, script := range wiretest.Goods() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, t, nil, func() wiretest.Script { return script })
		})
	}
}

// whole answers, each with the place where its body begins.
var seeds = []string{
	wiretest.Streamed,
	wiretest.StreamHead + wiretest.Chunked(wiretest.Event("1,2,3", "null")+wiretest.Event("4", "null"), ": ping\n\n",
		wiretest.Event("5", `"length"`), wiretest.Usage(5), wiretest.Done),
	wiretest.StreamHead + wiretest.Chunked(wiretest.Event("1", "null"), `data: {"error":{"message":"gone"}}`+"\n\n",
		wiretest.Done),
	wiretest.Whole(200, "application/json", wiretest.Good),
	wiretest.Whole(503, "text/plain", "busy"),
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + wiretest.Event("5,6", `"length"`),
	"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + wiretest.Good,
}

// TestSameAsNetHTTPAtRandom damages answers behind their header and cuts them there. (A header that is cut is read by
// net/http as far as it came, and called malformed; here it is truncated.)
func TestSameAsNetHTTPAtRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := []byte(rapid.SampledFrom(seeds).Draw(rt, "answer"))
		body := bytes.Index(text, []byte("\r\n\r\n")) + 4
		damages := rapid.IntRange(0, 2).Draw(rt, "damages")
		for range damages {
			at := rapid.IntRange(body, len(text)-1).Draw(rt, "at")
			switch rapid.SampledFrom([]string{"change", "insert", "delete"}).Draw(rt, "damage") {
			case "change":
				text[at] = rapid.SampledFrom([]byte("0f\r\n{\"x ;")).Draw(rt, "byte")
			case "insert":
				text = bytes.Join([][]byte{text[:at], []byte(rapid.SampledFrom([]string{"\r\n", "0", "\x00", "data: "}).Draw(rt,
					"more")), text[at:]}, nil)
			case "delete":
				text = append(text[:at:at], text[at+1:]...)
			}
			if len(text) <= body {
				break
			}
		}
		if damages == 0 { // what is both damaged and cut may be called either
			text = text[:rapid.IntRange(min(body, len(text)), len(text)).Draw(rt, "cut at")]
		}
		size := rapid.SampledFrom([]int{1 << 20, 100, 7}).Draw(rt, "piece")
		stream := rapid.Bool().Draw(rt, "stream")
		same(rt, t, func(c *backends.Config) { c.Stream = stream }, func() wiretest.Script {
			return func(c net.Conn, _, _ int) bool {
				for rest := text; len(rest) > 0; {
					n := min(size, len(rest))
					if _, err := c.Write(rest[:n]); err != nil {
						return false
					}
					rest = rest[n:]
				}
				return false
			}
		})
	})
}

// TestSameWords compares the sentences of failures that are the server's own doing.
func TestSameWords(t *testing.T) {
	for _, answer := range []string{
		wiretest.Whole(500, "text/plain", " went wrong \n"),
		wiretest.Whole(429, "text/plain", strings.Repeat("busy ", 1000)),
		"HTTP/1.1 301 Moved\r\nLocation: https://there/\r\nContent-Length: 0\r\n\r\n",
		strings.Replace(wiretest.Whole(200, "application/json", "xx"), "\r\n", "\r\nContent-Encoding: br\r\n", 1),
		wiretest.StreamHead + wiretest.Chunked(wiretest.Event("1", `"abort"`), wiretest.Done),
	} {
		words := func(k *wiretest.Contract) (string, string) {
			c := wiretest.Config(wiretest.Raw(t, wiretest.Answers(answer)))
			c.RequestTimeout = 2 * time.Second
			a := k.Ask(t, c, 1).Attempts[0]
			_, detail, _ := strings.Cut(a.Detail, "completions: ")
			return detail, string(a.Body)
		}
		ours, body := words(&contract)
		theirs, theirBody := words(&reference)
		require.Equal(t, theirs, ours)
		require.Equal(t, theirBody, body)
	}
}
