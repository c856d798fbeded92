package live

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// played returns the Progress of a test with rate requests a second. Each takes 100 ms, with a first token after 20 ms.
type played struct {
	started time.Time
	rate    int
	spread  time.Duration // of each time after the sending
	sent    int
}

// until returns the Progress at a time, with what ended since the last call.
func (p *played) until(at time.Duration) run.Progress {
	const ms = int64(time.Millisecond)
	now := run.Progress{Elapsed: at, Total: 1000, EndedUntil: p.started.Add(at),
		Names: ledger.Names{Reasons: []ledger.Reason{"", "reset"}},
		Tails: []record.Tail{{What: "time to first token", Limit: time.Second, Over: 2, Bearable: 1, Queries: 1000}}}
	var ended []ledger.Entry
	for ; ; p.sent++ {
		issued := p.started.UnixNano() + int64(p.sent)*int64(time.Second)/int64(p.rate)
		if issued+100*ms > now.EndedUntil.UnixNano() {
			break
		}
		e := ledger.Entry{IssuedNS: issued, SentNS: issued + ms, FirstTokenNS: issued + 20*ms, LastTokenNS: issued + 99*ms,
			ReadableNS: issued + 98*ms, DoneNS: issued + 100*ms, OutputTokens: 80}
		if p.spread > 0 {
			part := func(prime int) int64 { return int64(p.sent*prime) % int64(p.spread) }
			e.SentNS, e.FirstTokenNS = e.SentNS+part(7919), e.FirstTokenNS+part(104729)
			e.ReadableNS, e.LastTokenNS = e.ReadableNS-part(15485863), e.LastTokenNS-part(1299709)
		}
		if p.sent%10 == 9 {
			e.Reason = 1
			if len(now.Failures) < 20 { // a run passes on at most 20
				now.Failures = append(now.Failures, run.Failure{At: time.Unix(0, e.DoneNS), Reason: "reset", Endpoint: "http://a",
					Detail: "<script>alert(1)</script>\nnext line"})
			}
		}
		ended = append(ended, e)
	}
	now.Ended = func(yield func(*ledger.Entry, int64) bool) {
		for i := range ended {
			if e := &ended[i]; !yield(e, e.IssuedNS) {
				return
			}
		}
	}
	now.Done = int64(p.sent)
	now.Issued = int64(at.Seconds()*float64(p.rate)) + 1
	now.InFlight = now.Issued - now.Done
	return now
}

func start(t *testing.T, o Options) (*Server, *played) {
	t.Helper()
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	s, err := Start(o)
	require.NoError(t, err)
	t.Cleanup(s.close)
	began := time.Now()
	s.seconds.started = began
	return s, &played{started: began, rate: 100}
}

// viewer reads events.
type viewer struct {
	t    *testing.T
	in   *bufio.Scanner
	body io.Closer
}

func view(t *testing.T, s *Server, query, last string) *viewer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.address+"/events"+query, nil)
	require.NoError(t, err)
	r.Header.Set("Last-Event-ID", last)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &viewer{t, bufio.NewScanner(resp.Body), resp.Body}
}

// next returns the next event of a name, with its ID.
func (v *viewer) next(name string) (id, data string) {
	v.t.Helper()
	event := ""
	for v.in.Scan() {
		switch field, value, _ := strings.Cut(v.in.Text(), ": "); {
		case field == "event":
			event = value
		case field == "id" && event == name:
			id = value
		case field == "data" && event == name:
			return id, value
		}
	}
	v.t.Fatalf("the stream ended without %s: %v", name, v.in.Err())
	return "", ""
}

// number returns the number of a tick's ID.
func numberOf(t *testing.T, id string) int {
	t.Helper()
	_, n, _ := strings.Cut(id, ":")
	i, err := strconv.Atoi(n)
	require.NoError(t, err)
	return i
}

// TestSeconds compares the values of each second with the requests that were played.
func TestSeconds(t *testing.T) {
	s, p := start(t, Options{})
	for at := 500 * time.Millisecond; at <= 5200*time.Millisecond; at += 500 * time.Millisecond {
		s.Progress(p.until(at))
	}
	require.Len(t, s.ticks, 5)
	third := s.ticks[2]
	require.Equal(t, 2.5, third.AtS)
	for id, want := range map[string][]float64{"ttft": {20, 20, 20}, "tpot": {1, 1, 1}, "e2e": {.1, .1, .1},
		"rates": {100, 90, 10}, "tokens": {7200}, "lag": {1, 2}} {
		for i, v := range want {
			require.InDelta(t, v, float64(third.Values[id][i]), v/50, id)
		}
	}
	require.InDelta(t, 10, float64(third.Values["inflight"][0]), 1.5)
	require.Len(t, third.Failures, 10)
	require.Equal(t, [4]string{"2.1 s", "reset", "http://a", `<script>alert(1)</script>\u000anext line`}, third.Failures[0])
}

// TestPercentilesOfASecond: percentiles of up to 1,000 values are exact, of more within 0.8 %.
func TestPercentilesOfASecond(t *testing.T) {
	for n, within := range map[int]float64{1: 0, 1000: 0, 1001: .008, 50_000: .008} {
		var d durations
		for i := range n {
			d.add(math.NaN())
			d.add(float64((i*7919)%n+1) / 1e3) // 1 to n ms: 7919 is a prime
		}
		for i, v := range d.percentiles(1e3, .5, .9, .99) {
			share := []int{50, 90, 99}[i]
			want := float64(min(n*share/100, n-1) + 1)
			require.InDelta(t, want, float64(v), want*within+1e-9, "p%d of %d", share, n)
		}
	}
	for _, v := range new(durations).percentiles(1, .5, .99) {
		require.True(t, math.IsNaN(float64(v)))
	}
}

// TestLateLook: a look after several seconds finishes each of them, and leaves no second out.
func TestLateLook(t *testing.T) {
	s, p := start(t, Options{})
	s.Progress(p.until(500 * time.Millisecond))
	s.Progress(run.Progress{Elapsed: 3 * time.Second, EndedUntil: p.started.Add(500 * time.Millisecond), Issued: 301})
	require.Empty(t, s.ticks, "nothing is known of the ends since")
	s.Progress(p.until(3200 * time.Millisecond))
	require.Len(t, s.ticks, 3)
	for _, one := range s.ticks[1:] {
		require.EqualValues(t, 90, one.Values["rates"][1])
		require.InDelta(t, 100, float64(one.Values["rates"][0]), 2)
	}
	s.Progress(run.Progress{Elapsed: 6 * time.Second, EndedUntil: p.started.Add(6 * time.Second)})
	require.Len(t, s.ticks, 6)
	require.True(t, math.IsNaN(float64(s.ticks[5].Values["ttft"][2])), "nothing ended")
	require.Contains(t, string(s.ticks[5].text), `"ttft":[null,null,null]`)
}

// TestReconnect: of several viewers one reconnects, and receives exactly the events that it missed.
func TestReconnect(t *testing.T) {
	s, p := start(t, Options{})
	s.Progress(p.until(2100 * time.Millisecond))
	first, second := view(t, s, "", ""), view(t, s, "", "")
	last := ""
	for _, v := range []*viewer{first, second} {
		for n := 1; n <= 2; n++ {
			last, _ = v.next("tick")
			require.Equal(t, n, numberOf(t, last))
		}
	}
	require.NoError(t, second.body.Close())
	s.Progress(p.until(5100 * time.Millisecond))
	second = view(t, s, "?after=0", last)
	for _, v := range []*viewer{first, second} {
		for n := 3; n <= 5; n++ {
			id, data := v.next("tick")
			require.Equal(t, n, numberOf(t, id))
			require.Contains(t, data, `"at_s":`+strconv.Itoa(n-1)+`.5`)
		}
		_, data := v.next("now")
		require.Contains(t, data, `["time to first token","⚠ 2 queries over 1s, 1 allowed: already INVALID"]`)
	}
	reasons := []record.Cause{{Code: "failed_samples", Text: "x < 1"}}
	s.Finish(&record.Record{Verdict: record.Invalid, Reasons: reasons}, nil)
	for _, v := range []*viewer{first, second} {
		_, data := v.next("end")
		var end struct {
			Verdict string
			Reasons []struct{ Code, Text string }
		}
		require.NoError(t, json.Unmarshal([]byte(data), &end))
		require.Equal(t, "INVALID", end.Verdict)
		require.Equal(t, "x < 1", end.Reasons[0].Text)
		for v.in.Scan() {
			require.Empty(t, v.in.Text(), "the stream ends with the verdict")
		}
	}
}

// TestHistoryIsBounded: the last hour of a long test is kept, and viewers of another test must load the page again.
func TestHistoryIsBounded(t *testing.T) {
	s, p := start(t, Options{})
	s.Progress(p.until(time.Second))
	hours := 2 * time.Hour
	s.Progress(run.Progress{Elapsed: hours, EndedUntil: p.started.Add(hours)})
	require.Len(t, s.ticks, maxTicks)
	id, _ := view(t, s, "", "").next("tick")
	require.Equal(t, 7200-maxTicks+1, numberOf(t, id))
	page := s.snapshot()
	require.Equal(t, 7200, page.After)
	require.Len(t, page.Figures[0].Curves[2].X, maxTicks)
	_, _ = view(t, s, "", "another:7").next("other")
}

func get(t *testing.T, method, url string, header map[string]string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	for name, value := range header {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// TestStop: only a request from the page itself, with the token, stops the test.
func TestStop(t *testing.T) {
	stopped := 0
	s, _ := start(t, Options{Stop: func() { stopped++ }})
	page, token, ok := strings.Cut(s.URL(), "#token=")
	require.True(t, ok)
	origin := strings.TrimSuffix(page, "/")
	for name, header := range map[string]map[string]string{
		"no origin":     {"X-Live-Token": token},
		"other origin":  {"X-Live-Token": token, "Origin": "http://evil.example"},
		"no token":      {"Origin": origin},
		"wrong token":   {"Origin": origin, "X-Live-Token": token[:25] + "!"},
		"rebound name":  {"Origin": "http://evil.example", "X-Live-Token": token, "Host": "evil.example"},
		"rebound port":  {"Origin": "http://evil.example:80", "X-Live-Token": token, "Host": "evil.example:80"},
		"secure origin": {"Origin": "https" + strings.TrimPrefix(origin, "http"), "X-Live-Token": token},
	} {
		code, _ := get(t, http.MethodPost, page+"stop", header)
		require.Equal(t, http.StatusForbidden, code, name)
	}
	code, _ := get(t, http.MethodGet, page+"stop", map[string]string{"X-Live-Token": token, "Origin": origin})
	require.Equal(t, http.StatusMethodNotAllowed, code)
	require.Zero(t, stopped)
	code, _ = get(t, http.MethodPost, page+"stop", map[string]string{"X-Live-Token": token, "Origin": origin})
	require.Equal(t, http.StatusNoContent, code)
	require.Equal(t, 1, stopped)

	plain, _ := start(t, Options{})
	require.NotContains(t, plain.URL(), "token")
	origin = strings.TrimSuffix(plain.URL(), "/")
	code, _ = get(t, http.MethodPost, plain.URL()+"stop", map[string]string{"X-Live-Token": plain.token, "Origin": origin})
	require.Equal(t, http.StatusForbidden, code, "without --live-control nothing stops a test")
}

// TestHosts: the page can be read by address or by the name that the user chose.
func TestHosts(t *testing.T) {
	s, _ := start(t, Options{Address: "localhost:0"})
	s.host = "gpu-box"
	for host, want := range map[string]int{"127.0.0.1:1": 200, "[::1]:9": 200, "10.1.2.3": 200, "LOCALHOST:80": 200,
		"gpu-box:8090": 200, "GPU-box": 200, "gpu-box.evil.example": 403, "evil.example": 403,
		"127.0.0.1.evil.example": 403} {
		code, _ := get(t, http.MethodGet, "http://"+s.address+"/", map[string]string{"Host": host})
		require.Equal(t, want, code, host)
	}
	_, err := Start(Options{Address: "nothing"})
	var malformed *net.AddrError
	require.ErrorAs(t, err, &malformed)
	_, err = Start(Options{Address: s.address})
	require.ErrorContains(t, err, "address already in use")
	require.False(t, errors.As(err, &malformed))
	loopback, err := Start(Options{Address: ":0"})
	require.NoError(t, err)
	t.Cleanup(loopback.close)
	require.True(t, strings.HasPrefix(loopback.URL(), "http://127.0.0.1:"), loopback.URL())
}

// TestPage: the page contains its charts and failures as text, and has its policy.
func TestPage(t *testing.T) {
	s, p := start(t, Options{Title: "a <b> c", Folder: `run"folder`})
	s.Waiting("waiting for <i>http://a</i>")
	code, text := get(t, http.MethodGet, s.URL(), nil)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, "waiting for &lt;i&gt;")
	s.Progress(p.until(3100 * time.Millisecond))
	_, text = get(t, http.MethodGet, s.URL(), nil)
	require.Contains(t, text, "<title>a &lt;b&gt; c</title>")
	require.Contains(t, text, `data-folder="run&#34;folder"`)
	require.Equal(t, 7, strings.Count(text, "<figure id="))
	require.Contains(t, text, "limit of p99 1000 ms")
	require.Contains(t, text, `<th scope="row">failed</th><td>0</td>`)
	require.Contains(t, text, "&lt;script&gt;alert(1)&lt;/script&gt;")
	require.NotContains(t, text, "<script>alert")
	resp, err := http.Get(s.URL())
	require.NoError(t, err)
	_ = resp.Body.Close()
	require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, resp.Header.Get("Content-Security-Policy"), "connect-src 'self'; frame-ancestors 'none'")
	s.finish(NoVerdict, "the server is gone", nil)
	_, text = get(t, http.MethodGet, s.URL(), nil)
	require.Contains(t, text, "NO VERDICT")
	require.Contains(t, text, "the server is gone")
}

// TestViewersAreBounded: viewers above the limit are rejected, and a viewer that leaves makes room.
func TestViewersAreBounded(t *testing.T) {
	s, _ := start(t, Options{})
	var all []*viewer
	for range maxViewers {
		v := view(t, s, "", "")
		v.next("now")
		all = append(all, v)
	}
	code, text := get(t, http.MethodGet, s.URL()+"events", nil)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, text, "32 viewers")
	require.NoError(t, all[0].body.Close())
	require.Eventually(t, func() bool { return s.viewers.Load() < maxViewers }, 10*time.Second, time.Millisecond)
	view(t, s, "", "").next("now")
}

// BenchmarkProgress measures the work of two updates a second at a rate of requests.
func BenchmarkProgress(b *testing.B) {
	for _, rate := range []int{5000, 180_000} {
		b.Run(strconv.Itoa(rate)+"/s", func(b *testing.B) {
			p := &played{started: time.Now(), rate: rate, spread: 10 * time.Millisecond}
			f := newFeed(&Options{})
			f.seconds.started = p.started
			updates := make([]run.Progress, 20)
			for i := range updates {
				updates[i] = p.until(time.Duration(i+1) * 500 * time.Millisecond)
			}
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				f.seconds = seconds{started: p.started}
				for _, u := range updates {
					f.Progress(u)
				}
			}
			took := float64(processorTime(b)-before) / float64(b.N)
			b.ReportMetric(took/10e9*100, "%-of-a-core")
			b.ReportMetric(took/float64(10*rate), "ns/request")
		})
	}
}

// processorTime returns the processor time of this process in ns: elapsed time includes the work of others.
func processorTime(b *testing.B) int64 {
	b.Helper()
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}

var _ run.Observer = (*Server)(nil)

// TestCancelled: what the end of a test cancels is counted apart from failures, and is in no chart.
func TestCancelled(t *testing.T) {
	s, p := start(t, Options{})
	now := p.until(2100 * time.Millisecond)
	now.Names.Reasons[1] = ledger.FailCancelled // every tenth request
	now.Cancelled = 20
	s.Progress(now)
	require.Contains(t, string(s.now), `["failed","0"]`)
	require.Contains(t, string(s.now), `["cancelled","20"]`)
	for _, second := range s.ticks {
		require.Zero(t, second.Values["rates"][2])
	}
	require.EqualValues(t, 90, s.ticks[1].Values["rates"][1])
}
