package run

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
)

// records is the connection below a server's TLS. change returns the bytes to write for a record; nil: the record.
type records struct {
	net.Conn
	mu     sync.Mutex // closing a connection writes too
	change func(record []byte) []byte
}

func (r *records) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := b
	if r.change != nil {
		sent = r.change(bytes.Clone(b))
	}
	if _, err := r.Conn.Write(sent); err != nil {
		return 0, err
	}
	return len(b), nil
}

type recordListener struct {
	net.Listener
	config *tls.Config
}

func (l recordListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(&records{Conn: c}, l.config), nil
}

// spoil changes the further records of a connection.
func (x *call) spoil(change func(record []byte) []byte) {
	r := x.below().(*records)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.change = change
}

// drop ends the connection without close_notify.
func (x *call) drop() {
	x.hangUp = true
	_ = x.below().Close()
}

// begin writes the first of the tokens and waits until the client has probably read it.
func (x *call) begin() {
	x.raw(streamHead, x.events()[0])
	time.Sleep(20 * time.Millisecond)
}

// rest writes what follows begin, in one record.
func (x *call) rest() { x.raw(strings.Join(x.events()[1:], "") + x.trailer()) }

func halfOf(record []byte) []byte { return record[:len(record)/2] }
func flipped(record []byte) []byte {
	record[len(record)-1] ^= 1
	return record
}

// tlsRows are the faults that only TLS has. docs/how-to/load.md lists them by these names.
var tlsRows = []faultRow{
	{name: "the connection ends inside the first record", want: backends.FailReset,
		reply: func(x *call) { x.spoil(halfOf); x.raw(streamHead); x.drop() }},
	{name: "the connection ends inside a later record", want: backends.FailTruncated,
		reply: func(x *call) { x.begin(); x.spoil(halfOf); x.rest(); x.drop() }},
	{name: "the connection ends without close_notify", want: backends.FailTruncated,
		reply: func(x *call) { x.begin(); x.drop() }},
	{name: "the first record is damaged", want: backends.FailTLS,
		reply: func(x *call) { x.spoil(flipped); x.raw(streamHead); x.silent() }},
	{name: "a later record is damaged", want: backends.FailTLS,
		reply: func(x *call) { x.begin(); x.spoil(flipped); x.rest(); x.silent() }},
	{name: "records of one byte",
		reply: func(x *call) { x.drip(streamHead+strings.Join(x.events(), "")+x.trailer(), 0) }},
}

// serveRecords is serveFaultsOver with connections whose records can be changed.
func serveRecords(t *testing.T, version uint16, pair tls.Certificate, reply func(*call)) *faultServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: version, MaxVersion: version,
		DynamicRecordSizingDisabled: true}
	return serveFaultsOn(t, recordListener{l, config}, "https://"+l.Addr().String(), reply)
}

// trustedPair returns a certificate and the file of its authority.
func trustedPair(t *testing.T) (pair tls.Certificate, file string) {
	pair, authority := certificate(t)
	file = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, authority, 0o644))
	return pair, file
}

// TestFaultsOfTLS is TestFaults with the faults that only TLS has, and requires that the docs name code, verdict and
// exit code of each.
func TestFaultsOfTLS(t *testing.T) {
	program(t)
	page, err := os.ReadFile("../docs/how-to/load.md")
	require.NoError(t, err)
	pair, file := trustedPair(t)
	for _, row := range tlsRows {
		line := fmt.Sprintf("\n| %s | `%s` | INVALID | 1 |\n", row.name, row.want)
		if row.want == backends.OK {
			line = fmt.Sprintf("\n| %s | none | VALID | 0 |\n", row.name)
		}
		require.Contains(t, string(page), line)
		row.args = []string{"--ca-file", file}
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(row.name+", "+tls.VersionName(version), func(t *testing.T) {
				t.Parallel()
				server := serveRecords(t, version, pair, row.reply)
				if row.want != backends.OK {
					row.happens(t, server)
					return
				}
				r := faultRun(t, "calm", []string{server.url}, row.args...)
				r.holdsTogether(t, requestsOf(t, r))
				r.isValid(t)
			})
		}
	}
}

// TestLargeRecords: answers of 500 events in records of 16 KB are whole, and the run is VALID.
func TestLargeRecords(t *testing.T) {
	program(t)
	const tokens = 500
	pair, file := trustedPair(t)
	server := serveRecords(t, tls.VersionTLS13, pair, func(x *call) {
		events := []string{}
		for i := range tokens {
			events = append(events, data(token(i, map[bool]string{true: "length", false: "null"}[i == tokens-1])))
		}
		x.raw(streamHead, strings.Join(events, "")+data(usageOf(len(x.prompt), tokens))+data("[DONE]")+lastChunk)
	})
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	row := fmt.Sprintf("{\"tok_input\":[%d,5,6]}\n", faultEvery)
	require.NoError(t, os.WriteFile(rows, []byte(strings.Repeat(row, 16)), 0o644))
	r := faultRun(t, "calm", []string{server.url}, "--dataset", rows, "--ca-file", file, "--max-tokens",
		fmt.Sprint(tokens))
	r.isValid(t)
	require.EqualValues(t, 32*tokens, r.Tokens.Output)
}

// mortal is an HTTP proxy that carries bytes until it dies.
type mortal struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn // nil: it is dead
	all   sync.WaitGroup
}

func serveMortal(t *testing.T) *mortal {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &mortal{Listener: l, conns: []net.Conn{}}
	p.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() { p.die(); p.all.Wait() })
	return p
}

// die closes the port and every connection.
func (p *mortal) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.Close()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// keep reports whether the proxy lives. If it is dead, the connections are closed.
func (p *mortal) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns != nil {
		p.conns = append(p.conns, conns...)
		return true
	}
	for _, c := range conns {
		_ = c.Close()
	}
	return false
}

func (p *mortal) serve(here net.Conn) {
	defer here.Close()
	if !p.keep(here) {
		return
	}
	in := bufio.NewReader(here)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	there, err := net.Dial("tcp", r.Host)
	if err != nil {
		return
	}
	defer there.Close()
	if !p.keep(there) {
		return
	}
	if r.Method == http.MethodConnect {
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	} else if r.Write(there) != nil {
		return
	}
	p.all.Go(func() {
		_, _ = io.Copy(there, in)
		_ = there.Close()
	})
	_, _ = io.Copy(here, there)
}

// TestFaultProxyDies: the proxy dies inside an answer and does not return, in front of a server with TLS and of one
// without. The sample in flight is cut, the next three are refused, and the others find no endpoint.
func TestFaultProxyDies(t *testing.T) {
	program(t)
	pair, file := trustedPair(t)
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			t.Parallel()
			proxy := serveMortal(t)
			dies := func(x *call) { x.begin(); proxy.die(); x.silent() }
			var server *faultServer
			if secure {
				server = serveRecords(t, tls.VersionTLS13, pair, dies)
			} else {
				server = serveFaults(t, dies)
			}
			r := faultRun(t, "calm", []string{server.url}, "--proxy", "http://"+proxy.Addr().String(), "--ca-file", file,
				"--concurrency", "1", "--endpoint-timeout", "1s")
			r.holdsTogether(t, requestsOf(t, r))
			r.failedBy(t, "truncated", "reset", "connect", "no_endpoint")
			failed := r.Samples.FailedByReason
			require.EqualValues(t, 1, failed["truncated"]+failed["reset"], failed)
			require.EqualValues(t, 3, failed["connect"], failed)
			require.Positive(t, failed["no_endpoint"], failed)
			require.NotContains(t, failed, ledger.Reason(backends.FailTLS))
		})
	}
}
