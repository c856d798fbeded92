package http1_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/internal/faulttest"
)

// secureURL starts a server whose connections run on faulttest.Records. A nil config is that of all test servers.
func secureURL(t testing.TB, config *tls.Config, script wiretest.Script) string {
	return secureOn(t, "127.0.0.1", config, script)
}

func secureOn(t testing.TB, host string, config *tls.Config, script wiretest.Script) string {
	l, err := net.Listen("tcp", host+":0")
	require.NoError(t, err)
	if config == nil {
		config = wiretest.ServerTLS()
	}
	return strings.Replace(wiretest.RawOn(t, faulttest.OnRecords(l, config), script), "http:", "https:", 1)
}

// versions are settings of servers that use one version of TLS.
func versions() map[string]*tls.Config {
	all := map[string]*tls.Config{}
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		config := wiretest.ServerTLS().Clone()
		config.MinVersion, config.MaxVersion = version, version
		all[name] = config
	}
	return all
}

// TestFaultsOfRecords are the faults that only TLS has, in both versions.
func TestFaultsOfRecords(t *testing.T) {
	begun := wiretest.StreamHead + wiretest.Chunks(wiretest.Event("5", "null"))
	last := wiretest.Chunked(wiretest.Event("6", `"stop"`), wiretest.Usage(2), wiretest.Done)
	untilEnd := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + wiretest.Event("5,6", `"length"`)
	// then writes the second part with changed records and closes the socket without an announcement
	then := func(first, second string, change func([]byte) [][]byte) wiretest.Script {
		return func(c net.Conn, _, _ int) bool {
			c.Write([]byte(first))
			time.Sleep(10 * time.Millisecond)
			faulttest.Below(c).Change(change)
			c.Write([]byte(second))
			faulttest.Below(c).Conn.Close()
			return false
		}
	}
	for _, c := range []struct {
		name   string
		script wiretest.Script
		want   backends.Reason
		text   string
	}{
		{"cut inside the first record", then("", begun, faulttest.Halved), "reset", ""},
		{"cut inside a record", then(begun, last, faulttest.Halved), "truncated", ""},
		{"cut inside a record's header", then(begun, last, func(b []byte) [][]byte { return [][]byte{b[:3]} }), "truncated",
			""},
		{"a bad MAC first", then("", begun, faulttest.Damaged), "tls", "bad record MAC"},
		{"a bad MAC", then(begun, last, faulttest.Damaged), "tls", ": the TLS connection failed: .*bad record MAC"},
		{"a record twice", then(begun, last, func(b []byte) [][]byte { return [][]byte{b, b} }), backends.OK, ""},
		{"a record missing", then(begun, last+last, func([]byte) [][]byte { return nil }), "truncated", ""},
		{"plain bytes between records", then(begun, last,
			func(b []byte) [][]byte { return [][]byte{[]byte("HTTP/1.1 "), b} }),
			"tls", "oversized record|unexpected|version"},
		{"closed without close_notify", then(begun, "", nil), "truncated", ""},
		{"until the end, without close_notify", then(untilEnd, "", nil), "truncated", ""},
		{"until the end", wiretest.Closes(untilEnd), backends.OK, ""},
		{"closed behind the answer", then(begun+last, "", nil), backends.OK, ""},
	} {
		for version, config := range versions() {
			t.Run(c.name+", "+version, func(t *testing.T) {
				t.Parallel()
				r := secured.Ask(t, wiretest.Config(secureURL(t, config, c.script)), 2)
				for id, res := range r.Results {
					require.Equal(t, c.want, res.Reason, "%v", r.Attempts)
					if c.want == backends.OK {
						require.Equal(t, []int32{5, 6}, res.Tokens, "query %d", id)
					}
				}
				if c.text != "" {
					require.Regexp(t, c.text, r.Attempts[0].Detail)
				}
			})
		}
	}
}

// TestRecordsOfAnySize: records of one byte, and records of 16 KB with hundreds of events.
func TestRecordsOfAnySize(t *testing.T) {
	const tokens = 500
	events := []string{}
	for i := range tokens {
		events = append(events, wiretest.Event(fmt.Sprint(i),
			map[bool]string{false: "null", true: `"length"`}[i == tokens-1]))
	}
	many := wiretest.StreamHead + wiretest.Chunked(append(events, wiretest.Usage(tokens), wiretest.Done)...)
	for version, config := range versions() {
		config.DynamicRecordSizingDisabled = true
		t.Run("a byte each, "+version, func(t *testing.T) {
			t.Parallel()
			r := secured.Ask(t, wiretest.Config(secureURL(t, config, func(c net.Conn, _, _ int) bool {
				for i := range len(wiretest.Streamed) {
					if _, err := c.Write([]byte(wiretest.Streamed[i : i+1])); err != nil {
						return false
					}
				}
				return true
			})), 3)
			for _, res := range r.Results {
				require.Equal(t, backends.OK, res.Reason, "%v", r.Attempts)
				require.Equal(t, []int32{5, 6}, res.Tokens)
			}
		})
		t.Run("16 KB, "+version, func(t *testing.T) {
			t.Parallel()
			r := secured.Ask(t, wiretest.Config(secureURL(t, config, wiretest.Answers(many))), 20)
			for _, res := range r.Results {
				require.Equal(t, backends.OK, res.Reason, "%v", r.Attempts)
				require.Len(t, res.Tokens, tokens)
			}
			require.Empty(t, r.Attempts)
		})
	}
}

// TestSameAsNetHTTPOverTLS compares both clients where every record is cut into random pieces, and the answers too, and
// where the connection ends without close_notify, inside a record or with a damaged one.
func TestSameAsNetHTTPOverTLS(t *testing.T) {
	configs := versions()
	rapid.Check(t, func(rt *rapid.T) {
		text := []byte(rapid.SampledFrom(seeds).Draw(rt, "answer"))
		body := bytes.Index(text, []byte("\r\n\r\n")) + 4
		text = text[:rapid.IntRange(body, len(text)).Draw(rt, "cut at")]
		config := configs[rapid.SampledFrom([]string{"1.2", "1.3"}).Draw(rt, "version")]
		lengths := func(label string, most ...int) []int {
			return rapid.SliceOfN(rapid.IntRange(1, rapid.SampledFrom(most).Draw(rt, label)), 1, 9).Draw(rt, label)
		}
		sizes, pieces := lengths("plaintext of records", 1<<20, 300, 9), lengths("pieces of records", 1<<20, 300, 11, 1)
		end := rapid.SampledFrom(slices.Sorted(maps.Keys(lastRecords))).Draw(rt, "end")
		head := string(text[:body])
		if !strings.Contains(head, "chunked") && !strings.Contains(head, "Length") &&
			(end == "not announced" || len(text) == body) {
			end = "announced" // for net/http the end of the connection then is that of the answer
		}
		stream := rapid.Bool().Draw(rt, "stream")
		ask := func(k *wiretest.Contract) *wiretest.Recorder {
			c := wiretest.Config(secureURL(t, config, func(c net.Conn, _, _ int) bool {
				faulttest.Below(c).Change(func(b []byte) [][]byte { return cut(b, pieces) })
				parts := append(cut(text[:body], sizes), cut(text[body:], sizes)...)
				for i, part := range parts { // net/http calls a header malformed if it is cut
					if last := lastRecords[end]; last != nil && i == len(parts)-1 && len(text) > body {
						faulttest.Below(c).Change(func(b []byte) [][]byte { return cut(last(b), pieces) })
					}
					if _, err := c.Write(part); err != nil {
						return false
					}
				}
				if end != "announced" {
					faulttest.Below(c).Conn.Close()
				}
				return false
			}))
			c.KeepText, c.Stream, c.InsecureSkipVerify = true, stream, true
			return k.Ask(rt, c, 1)
		}
		ours, theirs := ask(&secured), ask(&reference)
		require.Equal(rt, taleOf(theirs), taleOf(ours))
	})
}

// lastRecords change the last record of an answer. Only one end is announced with close_notify.
var lastRecords = map[string]func(record []byte) []byte{
	"announced":       nil,
	"not announced":   func(b []byte) []byte { return b },
	"inside a record": func(b []byte) []byte { return b[:len(b)-1] },
	"a bad MAC":       func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
}

// cut divides bytes into pieces of these lengths, over and over.
func cut(b []byte, lengths []int) (pieces [][]byte) {
	for i := 0; len(b) > 0; i++ {
		n := min(lengths[i%len(lengths)], len(b))
		pieces, b = append(pieces, b[:n]), b[n:]
	}
	return pieces
}

// trust writes certificates that a configuration then trusts.
func trust(t *testing.T, c *backends.Config, pem []byte) {
	c.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(c.CAFile, pem, 0o600))
}

// TestCertificates: what is wrong with a certificate fails the samples with its words, and a good one passes.
func TestCertificates(t *testing.T) {
	good, authority, err := wiretest.Certificate(time.Now().Add(time.Hour))
	require.NoError(t, err)
	expired, old, err := wiretest.Certificate(time.Now().Add(-time.Hour))
	require.NoError(t, err)
	for _, c := range []struct {
		name    string
		shown   tls.Certificate
		trusted []byte
		host    string
		text    string // empty: it is good
	}{
		{"good", good, authority, "localhost", ""},
		{"good, by address", good, authority, "127.0.0.1", ""},
		{"unknown authority", expired, authority, "localhost", "unknown authority|expired"},
		{"expired", expired, old, "localhost", "expired"},
		{"another host", good, authority, "127.0.0.2", "127.0.0.2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			names := make(chan string, 9)
			config := &tls.Config{Certificates: []tls.Certificate{c.shown}, GetConfigForClient: func(h *tls.ClientHelloInfo) (
				*tls.Config, error) {
				names <- h.ServerName
				return nil, nil
			}}
			listens := strings.Replace(c.host, "localhost", "127.0.0.1", 1)
			url := secureOn(t, listens, config, wiretest.Answers(wiretest.Streamed))
			k := wiretest.Config(strings.Replace(url, listens, c.host, 1))
			trust(t, k, c.trusted)
			k.Concurrency = 1
			r := contract.Ask(t, k, 2)
			for _, res := range r.Results {
				if c.text == "" {
					require.Equal(t, backends.OK, res.Reason, "%v", r.Attempts)
					continue
				}
				require.Equal(t, backends.FailTLS, res.Reason)
				require.Regexp(t, c.text, r.Attempts[0].Detail)
			}
			require.Equal(t, map[bool]string{true: "localhost"}[c.host == "localhost"], <-names, "SNI")
		})
	}
}

// TestCertificateExpiresMidRun: a session that was made with a good certificate is not resumed once a new connection
// is shown an expired one by a server that was started again.
func TestCertificateExpiresMidRun(t *testing.T) {
	good, authority, err := wiretest.Certificate(time.Now().Add(time.Hour))
	require.NoError(t, err)
	expired, old, err := wiretest.Certificate(time.Now().Add(-time.Hour))
	require.NoError(t, err)
	before, after := &tls.Config{Certificates: []tls.Certificate{good}},
		&tls.Config{Certificates: []tls.Certificate{expired}}
	after.SetSessionTicketKeys([][32]byte{{1}})
	var answered atomic.Int32
	url := secureURL(t, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if answered.Load() < 3 {
			return before, nil
		}
		return after, nil
	}}, func(c net.Conn, _, _ int) bool {
		c.Write([]byte(wiretest.Streamed))
		answered.Add(1)
		return false
	})
	k := wiretest.Config(strings.Replace(url, "127.0.0.1", "localhost", 1))
	trust(t, k, append(authority, old...))
	k.Concurrency = 1
	r := contract.Ask(t, k, 6)
	for id, res := range r.Results {
		require.Equal(t, map[bool]backends.Reason{true: backends.OK, false: backends.FailTLS}[id <= 3], res.Reason,
			"query %d: %v", id, r.Attempts)
	}
}

// TestHandshakes: what a server may do before the first request.
func TestHandshakes(t *testing.T) {
	old := wiretest.ServerTLS().Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	other := wiretest.ServerTLS().Clone()
	other.NextProtos = []string{"smtp"}
	for _, c := range []struct {
		name string
		url  string
		want backends.Reason
		text string
	}{
		{"no TLS", strings.Replace(wiretest.Raw(t, wiretest.Answers(wiretest.Streamed)), "http:", "https:", 1), "tls",
			"TLS handshake|does not look like"},
		{"closed at once", "https://" + speaks(t, ""), "tls", "EOF"},
		{"plain bytes", "https://" + speaks(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), "tls", "first record does not look like"},
		{"an old version", secureURL(t, old, wiretest.Answers(wiretest.Streamed)), "tls", "version"},
		{"another protocol only", secureURL(t, other, wiretest.Answers(wiretest.Streamed)), "tls", "no application protocol"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := wiretest.Config(c.url)
			k.ConnectTimeout = 2 * time.Second
			r := secured.Ask(t, k, 2)
			for _, res := range r.Results {
				require.Equal(t, c.want, res.Reason, "%v", r.Attempts)
			}
			require.Regexp(t, c.text, r.Attempts[0].Detail)
		})
	}
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		k := wiretest.Config(strings.Replace(fullQueueThatAccepts(t), "http:", "https:", 1))
		k.ConnectTimeout = 200 * time.Millisecond
		r := secured.Ask(t, k, 2)
		for _, res := range r.Results {
			require.Equal(t, backends.FailTLS, res.Reason, "%v", r.Attempts)
		}
		require.Contains(t, r.Attempts[0].Detail, "--connect-timeout")
	})
}

// speaks is the address of a server that sends bytes to each connection, once it has read some, and closes it.
func speaks(t *testing.T, text string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 8<<10))
			c.Write([]byte(text))
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// fullQueueThatAccepts is the URL of a listener that sends nothing.
func fullQueueThatAccepts(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return "http://" + l.Addr().String()
}

// TestSessionsAreResumed: after the first handshake, new connections go on with its session.
func TestSessionsAreResumed(t *testing.T) {
	for version, config := range versions() {
		t.Run(version, func(t *testing.T) {
			var full, resumed atomic.Int32
			config.VerifyConnection = func(s tls.ConnectionState) error {
				if s.DidResume {
					resumed.Add(1)
				} else {
					full.Add(1)
				}
				if s.NegotiatedProtocol != "" && s.NegotiatedProtocol != "http/1.1" {
					t.Errorf("the protocol is %q", s.NegotiatedProtocol)
				}
				return nil
			}
			config.NextProtos = []string{"h2", "http/1.1"}
			k := wiretest.Config(secureURL(t, config, wiretest.Closes(wiretest.Streamed)))
			k.Concurrency = 1
			for _, res := range secured.Ask(t, k, 8).Results {
				require.Equal(t, backends.OK, res.Reason)
			}
			require.EqualValues(t, 1, full.Load())
			require.GreaterOrEqual(t, resumed.Load(), int32(7))
		})
	}
}

// TestAnswerBeforeTheRequest: an answer that comes with the end of the handshake answers nothing, and is counted.
func TestAnswerBeforeTheRequest(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	early := make(chan struct{}, 1)
	early <- struct{}{}
	url := wiretest.RawOn(t, greeting{faulttest.OnRecords(l, versions()["1.2"]), early},
		wiretest.Answers(wiretest.Streamed))
	k := wiretest.Config(strings.Replace(url, "http:", "https:", 1))
	k.Concurrency, k.Retries = 1, 1
	r, answers, _ := secured.Unasked(t, k, 3)
	require.EqualValues(t, 1, answers)
	for _, res := range r.Results {
		require.Equal(t, backends.OK, res.Reason, "%v", r.Attempts)
		require.Equal(t, []int32{5, 6}, res.Tokens)
	}
}

// greeting sends an answer in the same segment as its last bytes of the handshake, on one connection.
type greeting struct {
	net.Listener
	early chan struct{}
}

func (l greeting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case <-l.early:
		flights, last := 0, []byte(nil)
		faulttest.Below(c).Change(func(b []byte) [][]byte {
			if flights++; flights == 2 { // the server's end of the handshake, in TLS 1.2
				last = b
				return nil
			}
			return [][]byte{append(last, b...)}
		})
		go c.Write([]byte(stray)) // after the handshake
	default:
	}
	return c, nil
}

// TestTLSIsAnnouncedAtTheEnd: the client ends its sessions with close_notify.
func TestTLSIsAnnouncedAtTheEnd(t *testing.T) {
	ends := make(chan error, 1)
	url := secureURL(t, nil, func(c net.Conn, _, _ int) bool {
		c.Write([]byte(wiretest.Streamed))
		_, err := c.Read(make([]byte, 1))
		ends <- err
		return false
	})
	require.Equal(t, backends.OK, secured.Ask(t, wiretest.Config(url), 1).Results[1].Reason)
	require.EqualError(t, <-ends, "EOF")
}
