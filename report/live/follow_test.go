package live

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/report"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// readings returns a reading of a page.
func readings(page int, at time.Time, values map[string]float64) run.ServerSignals {
	return run.ServerSignals{Number: page, Page: "http://" + string(rune('a'+page)), At: at, Values: values}
}

// TestServers: the signals of each page have a value each second on the client's axis. A value is repeated for a while.
func TestServers(t *testing.T) {
	s, p := start(t, Options{})
	before := s.run
	for at := 500 * time.Millisecond; at <= 8*time.Second; at += 500 * time.Millisecond {
		now := p.until(at)
		if at == time.Second {
			now.Servers = []run.ServerSignals{
				readings(1, p.started.Add(900*time.Millisecond), map[string]float64{"waiting": 7}),
				readings(0, p.started.Add(800*time.Millisecond), map[string]float64{"waiting": 3})}
		}
		if at == 3*time.Second {
			now.Servers = []run.ServerSignals{
				readings(0, p.started.Add(2700*time.Millisecond), map[string]float64{"waiting": 4})}
		}
		s.Progress(now)
	}
	require.NotEqual(t, before, s.run, "a viewer's page needs another chart")
	require.Equal(t, []string{"http://a", "http://b"}, s.charts.Pages)
	for i, want := range [][2]number{{3, 7}, {3, 7}, {4, 7}, {4, -1}} {
		values := s.ticks[i].Values["server-waiting"]
		require.Equal(t, want[0], values[0], i)
		if want[1] >= 0 {
			require.Equal(t, want[1], values[1], i)
		} else {
			require.NotEqual(t, values[1], values[1], "page b was silent for 3 s")
		}
	}
	page := s.snapshot()
	last := page.Figures[len(page.Figures)-1]
	require.Equal(t, "server-waiting", last.ID)
	require.Equal(t, []string{"http://a", "http://b"}, []string{last.Curves[0].Name, last.Curves[1].Name})
	require.Len(t, last.Curves[1].Y, len(s.ticks))
}

// TestManyServers: if there are more pages than colours, they share one curve.
func TestManyServers(t *testing.T) {
	s, p := start(t, Options{NoClient: true})
	now := run.Progress{Elapsed: 2 * time.Second, EndedUntil: p.started.Add(2 * time.Second)}
	for n := range 64 {
		now.Servers = append(now.Servers,
			readings(n, p.started, map[string]float64{"running": 2, "kv_cache": .5, "ttft_p99": 1}))
	}
	s.Progress(now)
	require.Equal(t, map[string][]number{"server-running": {128}, "server-kv_cache": {50}, "server-ttft_p99": {1000}},
		onlyServers(s.ticks[0].Values))
	page := s.snapshot()
	require.Len(t, page.Figures, 3, "no chart of a client")
	require.Equal(t, "64 pages together", page.Figures[0].Curves[0].Name)
}

func onlyServers(values map[string][]number) map[string][]number {
	only := map[string][]number{}
	for id, list := range values {
		if len(id) > 7 && id[:7] == "server-" {
			only[id] = list
		}
	}
	return only
}

// TestProbesFollowEachOther: the second probe's seconds follow the first's, and no request is counted twice.
func TestProbesFollowEachOther(t *testing.T) {
	s, p := start(t, Options{})
	s.Progress(p.until(2100 * time.Millisecond))
	require.Len(t, s.ticks, 2)
	s.seconds.started = time.Now().Add(-10 * time.Second) // the probes are 8 s apart
	s.Begin()
	q := &played{started: time.Now(), rate: 100}
	s.Progress(q.until(0))
	for at := 500 * time.Millisecond; at <= 3*time.Second; at += 500 * time.Millisecond {
		s.Progress(q.until(at))
	}
	require.GreaterOrEqual(t, len(s.ticks), 4)
	require.InDelta(t, 11, s.ticks[2].AtS, 1.01)
	require.InDelta(t, 100, float64(s.ticks[3].Values["rates"][0]), 3, "issued")
}

// TestFollow: a parent shows its children's tests in sequence, with their limits, failures and states.
func TestFollow(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "page.sock")
	parent, _ := start(t, Options{What: "campaign"})
	parent.seconds.started = time.Time{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		parent.Follow(ctx, httpclient.New(httpclient.Options{Socket: socket}))
	}()
	t.Cleanup(func() { cancel(); <-done })
	parent.State([2]string{"step", "Server/performance\n, 1 of 2"})
	shown := func(n int) func() bool {
		return func() bool {
			parent.mu.Lock()
			defer parent.mu.Unlock()
			return len(parent.ticks) >= n
		}
	}
	for child := 1; child <= 2; child++ {
		s, p := start(t, Options{Address: "unix:" + socket})
		require.Equal(t, "unix:"+socket, s.URL())
		for at := 500 * time.Millisecond; at <= 4*time.Second; at += 500 * time.Millisecond {
			s.Progress(p.until(at))
		}
		require.Eventually(t, shown(4*child), 20*time.Second, time.Millisecond)
		s.Finish(&record.Record{Verdict: record.Valid}, nil)
	}
	parent.mu.Lock()
	defer parent.mu.Unlock()
	require.Len(t, parent.ticks, 8)
	for i := range parent.ticks {
		require.InDelta(t, 90, float64(parent.ticks[i].Values["rates"][1]), 9, "the first second lacks the first answers")
		if i > 0 {
			require.Greater(t, parent.ticks[i].AtS, parent.ticks[i-1].AtS)
		}
	}
	require.Equal(t, secondsText(parent.ticks[4].AtS-.5+.2), parent.ticks[4].Failures[0][0], "on the parent's axis")
	require.Equal(t, "time to first token", parent.charts.Tails[0].What)
	require.Equal(t, "RUNNING", parent.page.Verdict, "the end of a child is not the parent's")
	require.Equal(t, [2]string{"step", `Server/performance\u000a, 1 of 2`}, parent.page.Now[0])
	require.Equal(t, "answered", parent.page.Now[1][0])
}

// TestSteps: a table of steps reaches viewers, bounded and as text.
func TestSteps(t *testing.T) {
	s, _ := start(t, Options{})
	v := view(t, s, "", "")
	rows := make([][]string, mostSteps+5)
	for i := range rows {
		rows[i] = []string{"<b>\n"}
	}
	s.Steps(report.LiveSteps{Title: "Points", Head: []string{"load"}, Rows: rows})
	_, data := v.next("steps")
	var got report.LiveSteps
	require.NoError(t, json.Unmarshal([]byte(data), &got))
	require.Len(t, got.Rows, mostSteps)
	require.Equal(t, `<b>\u000a`, got.Rows[0][0])
	require.Equal(t, "<b>\n", rows[0][0], "the caller's rows are its own")
	_, text := get(t, "GET", s.URL(), nil)
	require.Contains(t, text, `<td>&lt;b&gt;\u000a</td>`)
}
