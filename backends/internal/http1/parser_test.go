package http1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// heard is what a parser made of some bytes.
type heard struct {
	Status    int
	Kind      string
	Body      string
	KeepAlive bool
	End, Bad  bool
	Rest      string
}

// listen passes pieces to a parser, one after the other.
func listen(p *parser, pieces ...[]byte) (h heard) {
	for i, b := range pieces {
		for {
			ev, body, rest := p.next(b)
			switch ev {
			case evHead:
				h.Status, h.Kind = p.status, p.kind()
			case evBody:
				h.Body += string(body)
			case evEnd:
				h.End, h.KeepAlive = true, p.keepAlive
				h.Rest = string(rest) + string(bytes.Join(pieces[i+1:], nil))
				return h
			case evBad:
				h.Bad = true
				return h
			}
			if ev == evMore {
				break
			}
			b = rest
		}
	}
	h.KeepAlive = p.keepAlive
	return h
}

func newParser() *parser {
	p := &parser{}
	p.reset()
	return p
}

const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

var answers = map[string]struct {
	text string
	want heard
}{
	"Content-Length": {"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 3\r\n\r\nabc",
		heard{Status: 200, Kind: "a/b", Body: "abc", KeepAlive: true, End: true}},
	"no body": {"HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n",
		heard{Status: 404, KeepAlive: true, End: true}},
	"no reason phrase": {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
		heard{Status: 200, KeepAlive: true, End: true}},
	"line feeds alone": {"HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
		heard{Status: 200, Body: "x", KeepAlive: true, End: true}},
	"bytes after the end": {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxyz",
		heard{Status: 200, Body: "x", KeepAlive: true, End: true, Rest: "yz"}},
	"chunks": {chunkedHead + "3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n",
		heard{Status: 200, Body: "abcd", KeepAlive: true, End: true}},
	"trailer": {chunkedHead + "A \r\n0123456789\r\n0\r\nX: y\r\n\r\nz",
		heard{Status: 200, Body: "0123456789", KeepAlive: true, End: true, Rest: "z"}},
	"connection: close": {"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n",
		heard{Status: 200, End: true}},
	"HTTP/1.0": {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", heard{Status: 200, End: true}},
	"HTTP/1.0, kept alive": {"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n",
		heard{Status: 200, KeepAlive: true, End: true}},
	"until the end": {"HTTP/1.1 200 OK\r\n\r\nabc", heard{Status: 200, Body: "abc"}},
	"204":           {"HTTP/1.1 204 No Content\r\n\r\n", heard{Status: 204, KeepAlive: true, End: true}},
	"switching protocols": {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
		heard{Status: 101, End: true}},
	"interim answers": {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 " +
		"200 OK\r\nContent-Length: 1\r\n\r\nx", heard{Status: 200, Body: "x", KeepAlive: true, End: true}},
	"chunks win over a length": {"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: " +
		"Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", heard{Status: 200, Body: "x", KeepAlive: true, End: true}},
	"the same length twice": {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
		heard{Status: 200, Body: "x", KeepAlive: true, End: true}},
	"a folded line": {"HTTP/1.1 200 OK\r\nX-Long: a\r\n b\r\nContent-Length: 0\r\n\r\n",
		heard{Status: 200, KeepAlive: true, End: true}},
	"many interim answers": {strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 6), heard{Bad: true}},
	"two lengths": {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
		heard{Bad: true}},
	"negative length":            {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", heard{Bad: true}},
	"empty length":               {"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nx", heard{Bad: true}},
	"length beyond 63 bits":      {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx", heard{Bad: true}},
	"unknown encoding":           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", heard{Bad: true}},
	"no HTTP":                    {"SSH-2.0-OpenSSH_9.2\r\n\r\n", heard{Bad: true}},
	"HTTP/2":                     {"HTTP/2.0 200 OK\r\n\r\n", heard{Bad: true}},
	"status of two digits":       {"HTTP/1.1 20 OKAY\r\n\r\n", heard{Bad: true}},
	"status of four digits":      {"HTTP/1.1 2000\r\n\r\n", heard{Bad: true}},
	"status with another first":  {"HTTP/1.1 x00 OK\r\n\r\n", heard{Bad: true}},
	"status with another second": {"HTTP/1.1 2x0 OK\r\n\r\n", heard{Bad: true}},
	"status with another third":  {"HTTP/1.1 20x OK\r\n\r\n", heard{Bad: true}},
	"status behind blanks": {"HTTP/1.1   200\r\nContent-Length: 0\r\n\r\n",
		heard{Status: 200, KeepAlive: true, End: true}},
	"too short behind blanks":    {"HTTP/1.1  20\r\n\r\n", heard{Bad: true}},
	"no blank before the status": {"HTTP/1.1x200 OK\r\n\r\n", heard{Bad: true}},
	"no minor version":           {"HTTP/1.x 200 OK\r\n\r\n", heard{Bad: true}},
	"blank line first":           {"\r\nHTTP/1.1 200 OK\r\n\r\n", heard{Bad: true}},
	"no colon":                   {"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", heard{Bad: true}},
	"a name with a control byte": {"HTTP/1.1 200 OK\r\nx\x01y: z\r\n\r\n", heard{Bad: true}},
	"a header without end": {"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 997)+"\r\n", 270),
		heard{Bad: true}},
	"blanks behind a size": {chunkedHead + "1\t \r\nx\r\n1 \t\r\ny\r\n0\r\n\r\n",
		heard{Status: 200, Body: "xy", KeepAlive: true, End: true}},
	"chunk without size":         {chunkedHead + "\r\nx\r\n", heard{Status: 200, Bad: true}},
	"chunk with a bad size":      {chunkedHead + "zz\r\nx\r\n", heard{Status: 200, Bad: true}},
	"chunk with blanks inside":   {chunkedHead + "1 1\r\nx\r\n", heard{Status: 200, Bad: true}},
	"chunk longer than its size": {chunkedHead + "1\r\nxy\r\n", heard{Status: 200, Body: "x", Bad: true}},
	"chunk size without CR":      {chunkedHead + "1\nx\r\n", heard{Status: 200, Bad: true}},
	"chunk size of 17 digits":    {chunkedHead + "00000000000000001\r\nx\r\n", heard{Status: 200, Bad: true}},
	"chunk with a long extension": {chunkedHead + "1;" + strings.Repeat("x", 5000) + "\r\nx\r\n",
		heard{Status: 200, Bad: true}},
	"more extension than data": {chunkedHead + strings.Repeat("1;"+strings.Repeat("x", 4000)+"\r\nx\r\n", 5),
		heard{Status: 200, Body: "xxxx", Bad: true}},
	"a trailer without end": {chunkedHead + "0\r\n" + strings.Repeat("X: y\r\n", 12000),
		heard{Status: 200, Bad: true}},
}

func TestParser(t *testing.T) {
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			p := newParser()
			got := listen(p, []byte(c.text))
			if c.want.Bad {
				c.want.KeepAlive, got.KeepAlive = false, false
				require.NotEmpty(t, p.bad)
			}
			require.Equal(t, c.want, got)
			bytewise := listen(newParser(), bytes.Split([]byte(c.text), nil)...)
			if c.want.Bad {
				bytewise.KeepAlive = false
			}
			require.Equal(t, c.want, bytewise)
		})
	}
}

// TestParserIsUsedAgain parses several answers with one parser. Nothing of one may appear in the next.
func TestParserIsUsedAgain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := &parser{}
		for range 4 {
			name := rapid.SampledFrom(names).Draw(rt, "answer")
			c := answers[name]
			p.reset()
			got := listen(p, cutUp(rt, []byte(c.text))...)
			if c.want.Bad {
				got.KeepAlive = false
			}
			require.Equal(rt, c.want, got, name)
		}
	})
}

var names = func() (n []string) {
	for name := range answers {
		n = append(n, name)
	}
	return n
}()

// cutUp cuts text into pieces.
func cutUp(rt *rapid.T, text []byte) (pieces [][]byte) {
	most := rapid.SampledFrom([]int{1, 3, 50, 5000}).Draw(rt, "longest piece")
	for len(text) > 0 {
		n := min(len(text), rapid.IntRange(1, most).Draw(rt, "piece"))
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

// FuzzParser compares the parser, with the bytes in two pieces, with net/http's.
func FuzzParser(f *testing.F) {
	for _, c := range answers {
		f.Add([]byte(c.text), uint(len(c.text)/2))
	}
	f.Fuzz(func(t *testing.T, text []byte, at uint) {
		at %= uint(len(text) + 1)
		got := listen(newParser(), text[:at], text[at:])
		require.Equal(t, listen(newParser(), text), got)
		if !got.End {
			return
		}
		// What this parser accepts as a whole answer is one for net/http, or net/http is stricter; it is never another one.
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), &http.Request{Method: http.MethodPost})
		if err != nil || r.StatusCode/100 == 1 || r.ProtoMajor != 1 || r.ProtoMinor > 1 {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			require.False(t, errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(err.Error(), "trailer"),
				"net/http misses bytes: %v", err)
			return
		}
		require.Equal(t, r.StatusCode, got.Status)
		require.Equal(t, string(body), got.Body)
		require.Equal(t, r.Header.Get("Content-Type") != "" || got.Kind == "", true)
	})
}

func BenchmarkParser(b *testing.B) {
	event := `data: {"id":"c","object":"text_completion","choices":[{"index":0,"text":"word","token_ids":[17]}]}` + "\n\n"
	one := fmt.Sprintf("%x\r\n%s\r\n", len(event), event)
	for name, text := range map[string]string{
		"answer": "HTTP/1.1 200 OK\r\ndate: Mon, 01 Jan 2024 00:00:00 GMT\r\nserver: uvicorn\r\ncontent-length: " +
			"462\r\ncontent-type: application/json\r\n\r\n" + strings.Repeat("x", 462),
		"stream": chunkedHead + strings.Repeat(one, 32) + "0\r\n\r\n",
	} {
		b.Run(name, func(b *testing.B) {
			p, data := &parser{}, []byte(text)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for range b.N {
				p.reset()
				rest := data
				for ev := evMore; ev != evEnd; {
					ev, _, rest = p.next(rest)
				}
			}
		})
	}
}

// TestTrailersAsNetHTTP reads every short text over a few bytes behind the last chunk as net/http does: whole, cut, or
// no field.
func TestTrailersAsNetHTTP(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
	alphabet := "\r\nf: \x00"
	var text []byte
	counts := map[string]int{}
	var all func(left int)
	all = func(left int) {
		for _, tail := range []string{"", "\r\n\r\n"} {
			answer := append([]byte(head), append(bytes.Clone(text), tail...)...)
			ours, theirs := "cut", "cut"
			var p parser
			p.reset()
			if h := listen(&p, answer); h.Bad {
				ours = "bad"
			} else if h.End {
				ours = "whole"
			}
			r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
			require.NoError(t, err)
			if _, err = io.ReadAll(r.Body); err == nil {
				theirs = "whole"
			} else if strings.Contains(err.Error(), "malformed MIME") {
				theirs = "bad"
			}
			require.Equal(t, theirs, ours, "%q behind the last chunk: %v", answer[len(head):], err)
			counts[ours]++
		}
		for i := 0; i < len(alphabet) && left > 0; i++ {
			text = append(text, alphabet[i])
			all(left - 1)
			text = text[:len(text)-1]
		}
	}
	all(5)
	require.Greater(t, min(counts["cut"], counts["bad"], counts["whole"]), 100, "%v", counts)
}
