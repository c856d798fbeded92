package shard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// tick is an event of a page about one second.
type tick struct {
	Values   map[string][]float64
	Failures [][4]string
}

// ticks returns the events of a page until its end.
func ticks(t *testing.T, s *live.Server) <-chan []tick {
	t.Helper()
	r, err := http.Get(s.URL() + "events")
	require.NoError(t, err)
	all := make(chan []tick, 1)
	go func() {
		defer http.DefaultClient.CloseIdleConnections()
		list, other := readTicks(r)
		for other { // charts have come, for which a viewer loads the page again
			if r, err = http.Get(s.URL() + "events"); err != nil {
				break
			}
			list, other = readTicks(r)
		}
		all <- list
	}()
	return all
}

// readTicks reads the events of a page. The last one may be that the page has other charts now.
func readTicks(r *http.Response) (list []tick, other bool) {
	defer r.Body.Close()
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
		other = name == "other"
	}
	return list, other
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
		g, err := Listen(socket, func() Progress { return Progress{Sent: 100, Ended: 100} }, func() {})
		require.NoError(t, err)
		gates, connections = append(gates, g), append(connections, connect(t, socket))
	}
	c := NewCoordinator(connections, Options{Progress: (&Page{Server: server}).Show, Count: true})
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
		happen(gates[i].Counter(), time.Unix(0, at), i)
	}
	require.Eventually(t, func() bool { return strings.Contains(get(server.URL()), `id="server-waiting"`) }, time.Minute,
		100*time.Millisecond)
	for _, g := range gates {
		require.NoError(t, g.Close())
	}
	c.Wait()
	server.End(string(record.Valid), "", nil)
	list := <-seen
	require.GreaterOrEqual(t, len(list), 2)
	require.EqualValues(t, 180, list[0].Values["rates"][1], "answered in the first second")
	require.EqualValues(t, 90, list[1].Values["rates"][1])
	require.EqualValues(t, 30, sum(list, "rates", 2), "failed")
	require.EqualValues(t, 200, sum(list, "rates", 0), "issued")
	require.EqualValues(t, 540, sum(list, "tokens", 0))
	require.InEpsilon(t, 100, list[0].Values["ttft"][2], .008, "p99 of both")
	require.InEpsilon(t, 20, list[1].Values["ttft"][2], .008, "p99 of the one that goes on")
	require.ElementsMatch(t, [][4]string{{"0.3 s", "reset", "http://a", "shard 0: <b>"},
		{"0.3 s", "reset", "http://a", "shard 1: <b>"}}, list[0].Failures)
	require.Equal(t, []float64{7}, list[1].Values["server-waiting"], "the reading of the first second, until the next")
	require.NotContains(t, list[1].Values, "server-kv_cache", "a value that is no number")
}

func get(url string) string {
	r, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return string(text)
}

// happen makes a failure of a shard, and a reading of a metrics page by the first.
func happen(c *live.Counter, start time.Time, shard int) {
	at := start.Add(300 * time.Millisecond)
	c.Fail(run.Failure{At: at, Endpoint: "http://a", Reason: "reset", Detail: "<b>"})
	if shard == 0 {
		c.Read(run.ServerSignals{Page: "http://a", At: at, Values: map[string]float64{"waiting": 7,
			"kv_cache": math.Inf(1)}})
	}
}

// TestStop stops a load before and after its start.
func TestStop(t *testing.T) {
	socket, stopped := filepath.Join(t.TempDir(), "s"), make(chan struct{}, 1)
	g, err := Listen(socket, nil, func() { stopped <- struct{}{} })
	require.NoError(t, err)
	c := NewCoordinator([]Connection{connect(t, socket)}, Options{})
	require.False(t, c.Stop(), "nothing runs")
	go func() { _, _ = g.Wait(t.Context(), 0) }()
	require.NoError(t, c.Run(t.Context(), 1))
	require.True(t, c.Stop())
	<-stopped
	require.NoError(t, g.Close())
	c.Wait()
	require.True(t, c.Stop(), "a shard that has ended is no error")
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
	err := NewCoordinator([]Connection{{here, here}}, Options{}).Run(t.Context(), 1)
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
		c := NewCoordinator(nil, Options{Progress: func(p Progress) {
			require.LessOrEqual(t, p.Counted, 3)
			page.Show(p)
		}})
		c.shards, c.started = []*peer{{}}, time.Now().Add(-2*time.Second)
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
