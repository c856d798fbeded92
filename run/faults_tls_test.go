package run

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/faulttest"
	"github.com/mlperf-go/mlperf-go/ledger"
)

// spoil changes the further records of a connection.
func (x *call) spoil(change func(record []byte) [][]byte) { faulttest.Below(x.conn).Change(change) }

// renegotiate sends a HelloRequest (RFC 5246, section 7.4.1.1) behind the handshake.
func (x *call) renegotiate() {
	_ = x.conn.(*faulttest.Peer).Send(faulttest.RecordHandshake, []byte{faulttest.MessageHelloRequest, 0, 0, 0})
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

// tlsRows are the faults that only TLS has. docs/how-to/load.md lists them by these names.
var tlsRows = []struct {
	faultRow
	listener func(net.Listener, *tls.Config) net.Listener // nil: faulttest.OnRecords
}{
	{faultRow: faultRow{name: "the connection ends inside the first record", want: backends.FailReset,
		reply: func(x *call) { x.spoil(faulttest.Halved); x.raw(streamHead); x.drop() }}},
	{faultRow: faultRow{name: "the connection ends inside a later record", want: backends.FailTruncated,
		reply: func(x *call) { x.begin(); x.spoil(faulttest.Halved); x.rest(); x.drop() }}},
	{faultRow: faultRow{name: "the connection ends without close_notify", want: backends.FailTruncated,
		reply: func(x *call) { x.begin(); x.drop() }}},
	{faultRow: faultRow{name: "the first record is damaged", want: backends.FailTLS,
		reply: func(x *call) { x.spoil(faulttest.Damaged); x.raw(streamHead); x.silent() }}},
	{faultRow: faultRow{name: "a later record is damaged", want: backends.FailTLS,
		reply: func(x *call) { x.begin(); x.spoil(faulttest.Damaged); x.rest(); x.silent() }}},
	{faultRow: faultRow{name: "the server asks for a renegotiation", want: backends.FailTLS,
		reply: func(x *call) { x.begin(); x.renegotiate(); x.silent() }}, listener: peers},
	{faultRow: faultRow{name: "records of one byte",
		reply: func(x *call) { x.drip(streamHead+strings.Join(x.events(), "")+x.trailer(), 0) }}},
}

func peers(l net.Listener, config *tls.Config) net.Listener { return faulttest.Peers(l, config, nil) }

// serveRecords is serveFaultsOver with another listener for TLS. nil: one whose connections' records can be changed.
func serveRecords(t *testing.T, listener func(net.Listener, *tls.Config) net.Listener, version uint16,
	pair tls.Certificate, reply func(*call)) *faultServer {
	if listener == nil {
		listener = faulttest.OnRecords
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: version, MaxVersion: version,
		DynamicRecordSizingDisabled: true}
	return serveFaultsOn(t, listener(l, config), "https://"+l.Addr().String(), reply)
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
				server := serveRecords(t, row.listener, version, pair, row.reply)
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
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	row := fmt.Sprintf("{\"tok_input\":[%d,5,6]}\n", faultEvery)
	require.NoError(t, os.WriteFile(rows, []byte(strings.Repeat(row, 16)), 0o644))
	pair, file := trustedPair(t)
	for version, number := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(version, func(t *testing.T) {
			server := serveRecords(t, nil, number, pair, func(x *call) {
				events := []string{}
				for i := range tokens {
					events = append(events, data(token(i, map[bool]string{true: "length", false: "null"}[i == tokens-1])))
				}
				x.raw(streamHead, strings.Join(events, "")+data(usageOf(len(x.prompt), tokens))+data("[DONE]")+lastChunk)
			})
			r := faultRun(t, "calm", []string{server.url}, "--dataset", rows, "--ca-file", file, "--max-tokens",
				fmt.Sprint(tokens))
			r.isValid(t)
			require.EqualValues(t, 32*tokens, r.Tokens.Output)
		})
	}
}

// TestFaultProxyDies: the proxy dies inside an answer and does not return, in front of a server with TLS and of one
// without. The sample in flight is cut, the next three are refused, and the others find no endpoint.
func TestFaultProxyDies(t *testing.T) {
	program(t)
	pair, file := trustedPair(t)
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			t.Parallel()
			port, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			proxy := faulttest.ServeProxy(t, port, nil)
			dies := func(x *call) { x.begin(); proxy.Die(); x.silent() }
			var server *faultServer
			if secure {
				server = serveRecords(t, nil, tls.VersionTLS13, pair, dies)
			} else {
				server = serveFaults(t, dies)
			}
			r := faultRun(t, "calm", []string{server.url}, "--proxy", "http://"+port.Addr().String(), "--ca-file", file,
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
