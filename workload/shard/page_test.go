package shard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// tick is an event of a page about one second.
type tick struct {
	Values map[string][]float64
}

// ticks returns the events of a page until its end.
func ticks(t *testing.T, s *live.Server) <-chan []tick {
	t.Helper()
	r, err := http.Get(s.URL() + "events")
	require.NoError(t, err)
	all := make(chan []tick, 1)
	go func() {
		defer r.Body.Close()
		defer http.DefaultClient.CloseIdleConnections()
		var list []tick
		lines := bufio.NewScanner(r.Body)
		for name := ""; lines.Scan(); {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case field == "event":
				name = value
			case field == "data" && name == "tick":
				var one tick
				if json.Unmarshal([]byte(value), &one) == nil {
					list = append(list, one)
				}
			}
		}
		all <- list
	}()
	return all
}

// sum adds up a curve of all seconds.
func sum(list []tick, figure string, curve int) (all float64) {
	for _, one := range list {
		all += one.Values[figure][curve]
	}
	return all
}

// TestPage: one shard counts the requests of two seconds, and another those of the first. The page adds them.
func TestPage(t *testing.T) {
	server, err := live.Start(live.Options{Address: "127.0.0.1:0", What: "workload"})
	require.NoError(t, err)
	seen := ticks(t, server)
	var connections []Connection
	var gates []*Gate
	for range 2 {
		socket := filepath.Join(t.TempDir(), "s")
		g, err := Listen(socket, func() Progress { return Progress{Sent: 100, Ended: 100} })
		require.NoError(t, err)
		gates, connections = append(gates, g), append(connections, connect(t, socket))
	}
	c := NewCoordinator(connections)
	c.Progress, c.Count = (&Page{Server: server}).Show, true
	starts := []chan int64{make(chan int64, 1), make(chan int64, 1)}
	for i, g := range gates {
		go func() {
			at, _ := g.Wait(t.Context(), 0)
			starts[i] <- at
		}()
	}
	require.NoError(t, c.Run(t.Context(), 1))
	for i, requests := range []int{200, 100} {
		at := <-starts[i]
		count(gates[i].Counter(), at, requests, time.Duration(20+80*i)*time.Millisecond)
	}
	time.Sleep(time.Until(c.started.Add(1500 * time.Millisecond)))
	for _, g := range gates {
		require.NoError(t, g.Close())
	}
	c.Wait()
	server.End(string(record.Valid), "", nil)
	list := <-seen
	require.Len(t, list, 2)
	require.EqualValues(t, 180, list[0].Values["rates"][1], "answered in the first second")
	require.EqualValues(t, 90, list[1].Values["rates"][1])
	require.EqualValues(t, 30, sum(list, "rates", 2), "failed")
	require.EqualValues(t, 200, sum(list, "rates", 0), "issued")
	require.EqualValues(t, 540, sum(list, "tokens", 0))
	require.InEpsilon(t, 100, list[0].Values["ttft"][2], .008, "p99 of both")
	require.InEpsilon(t, 20, list[1].Values["ttft"][2], .008, "p99 of the one that goes on")
}

// count counts requests, 100 a second, of which every tenth fails.
func count(c *live.Counter, start int64, requests int, ttft time.Duration) {
	for i := range int64(requests) {
		due := start + i*int64(10*time.Millisecond)
		e := ledger.Entry{IssuedNS: due, SentNS: due, FirstTokenNS: due + int64(ttft), LastTokenNS: due + int64(ttft),
			DoneNS: due + 1, OutputTokens: 2}
		if i%10 == 9 {
			e.Reason = 1
		}
		c.Add(&e, due)
	}
}

// TestHostileCounts names the shard that sends counts of buckets that do not exist.
func TestHostileCounts(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	go there.Write([]byte(`{"progress":{"second":{"number":1,"e2e":"AP////8PAQ=="}}}` + "\n"))
	err := NewCoordinator([]Connection{{here, here}}).Run(t.Context(), 1)
	require.ErrorContains(t, err, "shard 0: the connection to it ended before stage 0: an unexpected line")
	require.ErrorContains(t, err, "a bucket or count is out of range")
}

// FuzzProgress shows arbitrary progress of shards on a page, which never has more seconds than have passed.
func FuzzProgress(f *testing.F) {
	for _, line := range []string{`{"progress":{"sent":5,"counted":1,"second":{"number":0,"ttft":"BQUB","answered":1}}}`,
		`{"progress":{"sent":-9223372036854775808,"ended":9223372036854775807,"counted":9223372036854775807,"last":true}}`,
		`{"progress":{"counted":-5,"second":{"number":9223372036854775807,"e2e":"AAAB","failed":-7}}}`, `{"ready":3}`} {
		f.Add([]byte(line))
	}
	server, err := live.Start(live.Options{Address: "127.0.0.1:0"})
	require.NoError(f, err)
	f.Cleanup(func() { server.End(live.NoVerdict, "", nil) })
	page := Page{Server: server}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := newLink(bytes.NewReader(append(line, '\n')), nil).receive()
		if err != nil || m.Progress == nil {
			return
		}
		c := NewCoordinator(nil)
		c.shards, c.started = []*peer{{}}, time.Now().Add(-2*time.Second)
		c.Progress = func(p Progress) {
			require.LessOrEqual(t, p.Counted, 3)
			page.Show(p)
		}
		c.add(c.shards[0], *m.Progress)
	})
}

// TestLongestLine: a second with a request in every bucket still fits a line.
func TestLongestLine(t *testing.T) {
	all := new(ledger.Batch)
	for v, step := int64(0), int64(1); v >= 0; v += step {
		for range 200 {
			all.Record(v)
		}
		if v >= 128*step {
			step *= 2
		}
	}
	var out bytes.Buffer
	require.NoError(t, newLink(nil, &out).send(&message{Progress: &Progress{Second: &live.Second{TTFT: all, TPOT: all,
		E2E: all, Dispatch: all, Report: all}}}))
	require.Greater(t, out.Len(), 50_000)
	require.Less(t, out.Len(), maxLine)
}
