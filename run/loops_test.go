package run

import (
	"crypto/tls"
	"encoding/json"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/faulttest"
)

// A run over TLS, or over TLS through a proxy, reports the same figures about its loop and the stages of its samples as
// a run without both. They have similar sizes, and the times of a sample have the same order.
func TestLoopsOverTLS(t *testing.T) {
	program(t)
	t.Parallel()
	trusted, authority := certificate(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, authority, 0o644))
	plain := faultRun(t, "", []string{serveFaults(t, (*call).good).url})
	secure := faultRun(t, "", []string{serveFaultsOver(t, &tls.Config{Certificates: []tls.Certificate{trusted}},
		(*call).good).url}, "--ca-file", file)
	port, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	faulttest.ServeProxy(t, port, nil)
	proxied := faultRun(t, "", []string{serveFaultsOver(t, &tls.Config{Certificates: []tls.Certificate{trusted}},
		(*call).good).url}, "--ca-file", file, "--proxy", "http://"+port.Addr().String())
	const similar = 3 // times; handshakes and tunnels add rounds and events, measured: up to 1.3 times
	first := plain.Client.Loops[0]
	var keys [3][]string
	for i, r := range []*ran{plain, secure, proxied} {
		require.Len(t, r.Client.Loops, 1)
		loop := r.Client.Loops[0]
		require.Positive(t, loop.Turns)
		require.Positive(t, loop.Sleeps)
		require.Positive(t, loop.Events)
		require.Positive(t, loop.StallMaxUS)
		require.InDelta(t, 0, math.Log(float64(loop.Turns)/float64(first.Turns)), math.Log(similar), "turns of run %d", i)
		require.InDelta(t, 0, math.Log(float64(loop.Sleeps)/float64(first.Sleeps)), math.Log(similar), "sleeps of run %d", i)
		require.InDelta(t, 0, math.Log(float64(loop.Events)/float64(first.Events)), math.Log(similar), "events of run %d", i)
		require.NotEmpty(t, loop.Stalls)
		require.Positive(t, loop.ConnectionsMax)
		require.Zero(t, loop.Unasked)
		require.Positive(t, r.Client.ReportLagUS.Max)
		for _, part := range []any{loop, r.Client.StagesUS, r.Client} {
			keys[i] = append(keys[i], names(t, part)...)
		}
		for name, part := range r.Client.StagesUS {
			require.GreaterOrEqual(t, part.P50, 0.0, name)
			// µs: a busy machine delays single samples by ms, but not half of them
			require.LessOrEqual(t, part.P50, 10*plain.Client.StagesUS[name].P50+1000, "%s, run %d", name, i)
		}
		for _, name := range []string{"issued_to_dequeued", "dequeued_to_sent", "sent_to_first_byte"} {
			require.Positive(t, r.Client.StagesUS[name].Max, "%s, run %d", name, i)
		}
		for _, e := range requestsOf(t, r).Entries {
			times := []int64{e.IssuedNS, e.DequeuedNS, e.SentNS, e.FirstByteNS, e.FirstTokenNS, e.LastTokenNS, e.DoneNS}
			require.True(t, slices.IsSorted(times), "sample %d of run %d: %v", e.Seq, i, times)
			require.Positive(t, e.ReadableNS)
			require.LessOrEqual(t, e.ReadableNS, e.LastTokenNS)
		}
	}
	require.Equal(t, keys[0], keys[1])
	require.Equal(t, keys[0], keys[2])
}

// names returns the members of a value as JSON, sorted.
func names(t *testing.T, v any) []string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &members))
	return slices.Sorted(maps.Keys(members))
}
