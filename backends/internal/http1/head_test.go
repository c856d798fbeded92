package http1

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const nginxHead = "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Fri, 27 Nov 2026 08:52:40 GMT\r\n" +
	"Content-Type: application/json\r\nContent-Length: 400\r\nConnection: keep-alive\r\n\r\n"

// sameHead requires that a parser reads an answer as a new one does, and reports whether it repeated a known header.
func sameHead(t *testing.T, p *parser, text string, pieces ...[]byte) (known bool) {
	t.Helper()
	p.reset()
	_, known = p.repeat([]byte(text))
	p.reset()
	alone := newParser()
	require.Equal(t, listen(alone, pieces...), listen(p, pieces...), text)
	if alone.phase < atBody || alone.phase == atFault {
		return known // the header is not complete
	}
	require.Equal(t, []any{alone.phase, alone.length, alone.status, alone.old, alone.chunked, alone.untilEOF, alone.seen,
		alone.encoding, alone.location, alone.retryAfter},
		[]any{p.phase, p.length, p.status, p.old, p.chunked, p.untilEOF, p.seen, p.encoding, p.location, p.retryAfter}, text)
	return known
}

func TestKnownHead(t *testing.T) {
	for _, c := range []struct {
		from, to string
		known    bool
	}{
		{"", "", true}, {"08:52:40", "08:52:41", true}, {"400", "39", true}, {"400", "0", true}, {"400", "1234567", true},
		{"400", "", false}, {"400", "-1", false}, {"400", "4 0", false}, {"400", "999999999999999999", true},
		{"400", "9999999999999999999", false}, {"2026", "26", false}, {"Fri,", "Fri\n", false}, {"Fri,", "Fri\r", true},
		{"200", "201", false}, {"1.1", "1.0", false}, {"nginx", "Nginx", false}, {"keep-alive", "close", false},
		{"\r\n\r\n", "\r\nContent-Length: 5\r\n\r\n", false}, {"json\r\n", "json\r\nTransfer-Encoding: chunked\r\n", false},
		{"json", "jsonx", false}, {"\r\n\r\n", "\r\n", false}, {"Content-Length", "Content-length", false},
		{"Content-Length: 400\r\n", "", false}, {"\r\nDate", "\nDate", false},
		{"HTTP", "HTTP/1.1 100 Continue\r\n\r\nHTTP", false},
	} {
		p := newParser()
		require.False(t, sameHead(t, p, nginxHead, []byte(nginxHead+"a")))
		text := strings.Replace(nginxHead, c.from, c.to, 1) + "answer"
		require.Equal(t, c.known, sameHead(t, p, text, []byte(text)), text)
		sameHead(t, p, nginxHead, []byte(nginxHead))
		sameHead(t, p, text, []byte(text[:30]), []byte(text[30:]))
		require.True(t, sameHead(t, p, nginxHead, []byte(nginxHead)) || c.from != "", text)
	}
}

// Headers that always differ are soon parsed without a look at the previous one.
func TestUnknownHeads(t *testing.T) {
	p := newParser()
	for i := range 2 * maxHeads {
		text := strings.Replace(nginxHead, "nginx", strings.Repeat("n", i+1), 1)
		require.False(t, sameHead(t, p, text, []byte(text)))
	}
	require.Empty(t, p.known.bytes)
	for _, text := range []string{
		strings.Replace(nginxHead, "nginx", strings.Repeat("n", maxKnownHead), 1),
		strings.Replace(nginxHead, "\r\n\r\n", "\r\nContent-Length: 400\r\n\r\n", 1),
		strings.Replace(nginxHead, "200", "404", 1), strings.Replace(nginxHead, "Server", "Content-Encoding", 1),
		strings.Replace(nginxHead, "Content-Length", "X", 1),
	} {
		p := newParser()
		for range 2 {
			require.False(t, sameHead(t, p, text, []byte(text)))
		}
	}
}

// FuzzHeads feeds answers to one parser: its memory of earlier ones must not change a later one.
func FuzzHeads(f *testing.F) {
	f.Add(nginxHead, strings.Replace(nginxHead, "400", "40", 1), uint(20))
	f.Add(nginxHead, strings.Replace(nginxHead, "Fri", "Mon", 1), uint(0))
	for _, c := range answers {
		f.Add(c.text, c.text, uint(len(c.text)/2))
	}
	f.Fuzz(func(t *testing.T, first, second string, at uint) {
		at %= uint(len(second) + 1)
		p := newParser()
		sameHead(t, p, first, []byte(first))
		sameHead(t, p, second, []byte(second))
		sameHead(t, p, second, []byte(second[:at]), []byte(second[at:]))
		sameHead(t, p, first, []byte(first))
	})
}

func BenchmarkHead(b *testing.B) {
	text := []byte(nginxHead)
	for name, forget := range map[string]bool{"known": false, "parsed": true} {
		b.Run(name, func(b *testing.B) {
			p := newParser()
			b.ReportAllocs()
			for b.Loop() {
				p.reset()
				if forget {
					p.known.bytes, p.known.missed = p.known.bytes[:0], maxHeads
				}
				if ev, _, _ := p.next(text); ev != evHead {
					b.Fatal(ev)
				}
			}
		})
	}
}
