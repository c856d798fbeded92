package http1_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/internal/faulttest"
)

// peers starts a server whose connections are faulttest.Peers.
func peers(t *testing.T, config *tls.Config, script wiretest.Script) string {
	return meeting(t, config, nil, script)
}

// meeting is peers, and calls a function after the first bytes of a connection.
func meeting(t *testing.T, config *tls.Config, met func(p *faulttest.Peer), script wiretest.Script) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return strings.Replace(wiretest.RawOn(t, faulttest.Peers(l, config, met), script), "http:", "https:", 1)
}

// TestKeyUpdates: keys that the server changes before, inside and behind answers are followed, and the client changes
// its own when it is asked to, on a connection that goes on.
func TestKeyUpdates(t *testing.T) {
	begun := wiretest.StreamHead + wiretest.Chunks(wiretest.Event("5", "null"))
	last := wiretest.Chunked(wiretest.Event("6", `"stop"`), wiretest.Usage(2), wiretest.Done)
	const queries = 6
	for _, asks := range []bool{false, true} {
		t.Run(fmt.Sprintf("asks %t", asks), func(t *testing.T) {
			var connections atomic.Int32
			answered := make(chan []byte, queries)
			k := wiretest.Config(peers(t, versions()["1.3"], func(c net.Conn, number, _ int) bool {
				connections.Store(int32(number + 1))
				p := c.(*faulttest.Peer)
				for i, text := range []string{begun[:20], begun[20:], last} {
					if err := p.Update(asks && i > 0); err != nil {
						return false
					}
					io.WriteString(p, text)
				}
				answered <- bytes.Clone(p.Messages)
				return p.Update(asks) == nil
			}))
			k.Concurrency = 1
			r := secured.Ask(t, k, queries)
			for _, res := range r.Results {
				require.Equal(t, backends.OK, res.Reason, "%v", r.Attempts)
				require.Equal(t, []int32{5, 6}, res.Tokens)
			}
			require.EqualValues(t, 1, connections.Load())
			require.Empty(t, r.Attempts)
			var seen []byte
			for range queries {
				seen = <-answered
			}
			if !asks {
				require.Empty(t, seen)
				return
			}
			// Each answer before the last one asks three times. The client may have sent its last request before it read the
			// last of these.
			one := []byte{faulttest.MessageKeyUpdate, 0, 0, 1, 0}
			require.Equal(t, bytes.Repeat(one, len(seen)/len(one)), seen)
			require.GreaterOrEqual(t, len(seen), len(one)*(3*(queries-1)-1))
		})
	}
}

// TestKeyUpdateInsideARequest: the client changes its keys in the order in which its bytes are sent, also while a
// request does not fit into the socket.
func TestKeyUpdateInsideARequest(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB
	asked := make(chan int, 1)
	k := wiretest.Config(meeting(t, versions()["1.3"], func(p *faulttest.Peer) { p.Update(true) },
		func(c net.Conn, _, _ int) bool {
			asked <- len(c.(*faulttest.Peer).Messages)
			_, err := io.WriteString(c, wiretest.Streamed)
			return err == nil
		}))
	k.Body = func(int) []byte { return text }
	r := secured.Ask(t, k, 1)
	require.Equal(t, backends.OK, r.Results[1].Reason, "%v", r.Attempts)
	require.Equal(t, 5, <-asked, "one key update")
}

// TestMessagesBehindTheHandshake: a message that a server may not send behind its handshake ends the answer as tls, and
// an alert of the client states why.
func TestMessagesBehindTheHandshake(t *testing.T) {
	const handshake, alert = faulttest.RecordHandshake, faulttest.RecordAlert
	begun := wiretest.StreamHead + wiretest.Chunks(wiretest.Event("5", "null"))
	for _, c := range []struct {
		name, version string
		kind          byte
		text          []byte
		alert         byte // RFC 8446, section 6
		words         string
	}{
		{"renegotiation", "1.2", handshake, []byte{faulttest.MessageHelloRequest, 0, 0, 0}, 100, "no renegotiation"},
		{"renegotiation", "1.3", handshake, []byte{faulttest.MessageHelloRequest, 0, 0, 0}, 10, "unexpected handshake"},
		{"a key update of TLS 1.3", "1.2", handshake, []byte{faulttest.MessageKeyUpdate, 0, 0, 1, 0}, 10, "unexpected"},
		{"a malformed key update", "1.3", handshake, []byte{faulttest.MessageKeyUpdate, 0, 0, 1, 7}, 50, ""},
		{"an unknown record", "1.3", 99, []byte("x"), 10, "unexpected message"},
		{"an unknown record", "1.2", 99, []byte("x"), 10, "unexpected message"},
		{"a fatal alert", "1.2", alert, []byte{2, 80}, 0, "internal error"},
		{"a fatal alert", "1.3", alert, []byte{2, 80}, 0, "internal error"},
		{"an empty handshake record", "1.3", handshake, nil, 10, "unexpected"},
	} {
		for _, where := range []string{"", begun} {
			t.Run(fmt.Sprintf("%s, %s, behind %d bytes", c.name, c.version, len(where)), func(t *testing.T) {
				alerts := make(chan [][]byte, 1)
				k := wiretest.Config(peers(t, versions()[c.version], func(conn net.Conn, _, _ int) bool {
					p := conn.(*faulttest.Peer)
					if where != "" {
						io.WriteString(p, where)
					}
					p.Send(c.kind, c.text)
					io.Copy(io.Discard, p)
					alerts <- p.Alerts
					return false
				}))
				k.Concurrency = 1
				r := secured.Ask(t, k, 1)
				require.Equal(t, backends.FailTLS, r.Results[1].Reason, "%v", r.Attempts)
				require.Contains(t, r.Attempts[0].Detail, c.words)
				if got := <-alerts; c.alert != 0 {
					require.NotEmpty(t, got)
					require.Equal(t, c.alert, got[0][1])
				}
			})
		}
	}
}

// TestCloseNotify: the server's close_notify ends the bytes of a connection, whether or not the socket ends. Inside an
// answer with a length it truncates the answer, and an idle connection that got it is not used again.
func TestCloseNotify(t *testing.T) {
	begun := wiretest.StreamHead + wiretest.Chunks(wiretest.Event("5", "null"))
	untilEnd := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + wiretest.Event("5,6", `"length"`)
	for _, version := range []string{"1.2", "1.3"} {
		for _, c := range []struct {
			name, text string
			want       backends.Reason
		}{
			{"before an answer", "", backends.FailReset},
			{"inside an answer", begun, backends.FailTruncated},
			{"as the end of an answer", untilEnd, backends.OK},
			{"behind an answer", wiretest.Streamed, backends.OK},
		} {
			t.Run(c.name+", "+version, func(t *testing.T) {
				var connections atomic.Int32
				k := wiretest.Config(peers(t, versions()[version], func(conn net.Conn, number, _ int) bool {
					connections.Store(int32(number + 1))
					p := conn.(*faulttest.Peer)
					if c.text != "" {
						io.WriteString(p, c.text)
					}
					p.Send(faulttest.RecordAlert, []byte{1, 0})
					io.Copy(io.Discard, p) // the socket stays open until the client closes it
					return false
				}))
				k.Concurrency = 1
				r := secured.Ask(t, k, 3)
				for _, res := range r.Results {
					require.Equal(t, c.want, res.Reason, "%v", r.Attempts)
				}
				require.EqualValues(t, 3, connections.Load())
			})
		}
	}
}
