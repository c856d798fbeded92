package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	_ "github.com/mlperf-go/mlperf-go/backends/openai" // registers openai
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
	"github.com/mlperf-go/mlperf-go/workload/schedule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers completions and chats with a stream of two tokens, and keeps the bodies.
type server struct {
	*httptest.Server
	think  bool // the first token is reasoning
	delay  time.Duration
	status func(n int64) int // of the n-th request; nil: 200
	again  int               // how often the client may repeat a request

	n, now, most atomic.Int64
	mu           sync.Mutex
	bodies       []string
	headers      []http.Header
}

func serve(t *testing.T, delay time.Duration, status func(int64) int) *server {
	s := &server{delay: delay, status: status}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, now := s.n.Add(1), s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	body := make([]byte, r.ContentLength)
	for at := 0; at < len(body); {
		k, err := r.Body.Read(body[at:])
		if at += k; err != nil {
			break
		}
	}
	s.mu.Lock()
	s.bodies, s.headers = append(s.bodies, string(body)), append(s.headers, r.Header)
	s.mu.Unlock()
	if s.status != nil && s.status(n) != http.StatusOK {
		w.WriteHeader(s.status(n))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	key := `"text":`
	if strings.HasSuffix(r.URL.Path, "/chat/completions") {
		key = `"delta":{"content":`
	}
	end := strings.Repeat("}", strings.Count(key, "{"))
	event := func(text, finish string) {
		fmt.Fprintf(w, `data: {"id":"x","choices":[{"index":0,%s%q%s,"finish_reason":%s}]}`+"\n\n", key, text, end, finish)
		w.(http.Flusher).Flush()
	}
	if s.think {
		fmt.Fprint(w,
			`data: {"id":"x","choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]}`+"\n\n")
		w.(http.Flusher).Flush()
		time.Sleep(s.delay)
	}
	event("an", "null")
	select {
	case <-time.After(s.delay):
	case <-r.Context().Done():
		return
	}
	event("swer", `"stop"`)
	tokens := 2
	if s.think {
		tokens++
	}
	fmt.Fprintf(w, `data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":%d}}`+"\n\ndata: [DONE]\n\n",
		tokens)
}

// list is a source of sessions in memory. Each call has its text.
type list struct {
	sessions      [][]prompts.Call
	conversations int
	answer        string
}

func (l *list) Sessions() int                       { return len(l.sessions) }
func (l *list) Conversations() int                  { return l.conversations }
func (l *list) Calls(n int) ([]prompts.Call, error) { return l.sessions[n%len(l.sessions)], nil }
func (l *list) Request(n, call int, r *prompts.Request) error {
	r.Reset()
	r.Text, r.Output, r.Answer = fmt.Sprintf("[s%d c%d]", n, call), 2, l.answer
	if before := l.sessions[n%len(l.sessions)][call].After; len(before) > 0 {
		r.Continues = before[0] + 1
	}
	return nil
}

// engineOf makes an engine with a number of event loops and a log in a file.
func engineOf(t *testing.T, s *server, p *profile.Profile, src prompts.Source,
	loops int) (e *Engine, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), eventlog.FileName)
	log, err := eventlog.Create(path, eventlog.Header{StartNS: time.Now().UnixNano()})
	require.NoError(t, err)
	d, err := backends.Lookup("openai")
	require.NoError(t, err)
	c := &backends.Config{Endpoints: []backends.Endpoint{{URL: s.URL, Headers: p.API.Headers}},
		RequestOptions: backends.RequestOptions{API: p.API.Kind, ServedModel: "m", Stream: true},
		AnswerOptions:  backends.AnswerOptions{KeepText: true}, Dispatch: backends.Dispatch{Retries: s.again}}
	encoder, err := NewEncoder(p, d, c)
	require.NoError(t, err)
	e = &Engine{Profile: p, Source: src, Encoder: encoder, Log: log, Name: "run"}
	for range loops {
		own := *c
		own.Body, own.Head, own.Conduct = e.Body, e.Head, e.Conduct
		b, err := d.Open(&own)
		require.NoError(t, err)
		e.Backends = append(e.Backends, b)
	}
	return e, path
}

// run runs a profile against a server, and returns what was recorded.
func run(t *testing.T, ctx context.Context, s *server, p *profile.Profile, src prompts.Source,
	loops int) (*Outcome, []eventlog.Request, *eventlog.End) {
	t.Helper()
	e, path := engineOf(t, s, p, src, loops)
	o, err := e.Run(ctx)
	require.NoError(t, err)
	require.NoError(t, e.Log.Close(eventlog.End{Complete: o.Ended == nil}))
	var all []eventlog.Request
	end, err := eventlog.Read(path, func(_ *eventlog.Header, r *eventlog.Request) error {
		own := *r
		own.Events = slices.Clone(r.Events)
		all = append(all, own)
		return nil
	})
	require.NoError(t, err)
	slices.SortFunc(all, func(a, b eventlog.Request) int { return a.Seq - b.Seq })
	require.EqualValues(t, len(all), o.Requests)
	for i := range all {
		require.True(t, i == 0 || all[i].Seq > all[i-1].Seq, "each is recorded once")
	}
	return o, all, end
}

func profileOf(stages ...profile.Stage) *profile.Profile {
	p := profile.Defaults()
	p.Name, p.Seed = "test", 7
	p.Data = profile.Data{Kind: profile.Random, Input: profile.FixedAt(5), Output: profile.FixedAt(2)}
	p.Load.Stages = stages
	return p
}

func randomIDs(t *testing.T, p *profile.Profile) prompts.Source {
	t.Helper()
	src, err := prompts.Open(p, prompts.Options{})
	require.NoError(t, err)
	return src
}

func sorted(s *server) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.bodies))
}

// Requests are due by the schedule, and neither their times nor their prompts depend on the number of loops.
func TestOpenLoop(t *testing.T) {
	p := profileOf(profile.Stage{Arrival: profile.Poisson, Rate: 400, Requests: 100},
		profile.Stage{Arrival: profile.Constant, Rate: 200, Duration: 100 * time.Millisecond})
	p.Load.Pause = 50 * time.Millisecond // longer than a start
	var bodies []string
	for _, loops := range []int{1, 3} {
		s := serve(t, time.Millisecond, nil)
		o, all, end := run(t, t.Context(), s, p, randomIDs(t, p), loops)
		require.Len(t, all, 120)
		require.True(t, end.Complete)
		require.Len(t, o.Spans, 2)
		at := 0
		for stage := range p.Load.Stages {
			due, err := schedule.Due(&p.Load.Stages[stage], schedule.Seed{Profile: 7, Stage: stage}, nil)
			require.NoError(t, err)
			for _, ns := range due {
				r := &all[at]
				require.Equal(t, o.Spans[stage].StartNS+ns, r.DueNS)
				require.Equal(t, stage, r.Stage)
				require.True(t, r.OK(), r.Reason)
				require.GreaterOrEqual(t, r.SentNS, r.DueNS)
				require.Len(t, r.Events, 2)
				require.Equal(t, [2]int{5, 2}, [2]int{r.InputTokens, r.OutputTokens})
				at++
			}
			require.EqualValues(t, len(due), o.Spans[stage].Requests)
		}
		require.GreaterOrEqual(t, o.Spans[1].StartNS-o.Spans[0].EndNS, int64(p.Load.Pause))
		if bodies == nil {
			bodies = sorted(s)
			require.Len(t, slices.Compact(slices.Clone(bodies)), 120, "all prompts differ")
		}
		require.Equal(t, bodies, sorted(s))
	}
}

// A limit on requests in flight delays requests, and that delay is not the client's.
func TestLimitInFlight(t *testing.T) {
	s := serve(t, 20*time.Millisecond, nil)
	p := profileOf(profile.Stage{Arrival: profile.Burst, Requests: 20, Concurrency: 4})
	_, all, _ := run(t, t.Context(), s, p, randomIDs(t, p), 2)
	require.LessOrEqual(t, s.most.Load(), int64(4))
	require.Len(t, all, 20)
	slices.SortFunc(all, func(a, b eventlog.Request) int { return int(a.SentNS - b.SentNS) })
	last := all[19]
	require.Greater(t, last.ReadyNS-last.DueNS, int64(70*time.Millisecond), "it waited for four answers")
	require.GreaterOrEqual(t, last.SentNS, last.ReadyNS)
}

// Requests that this machine cannot send yet are not prepared, so an overload needs no memory. The delay is the
// client's.
func TestOverloadIsNotPrepared(t *testing.T) {
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	few := before
	few.Cur = 230 // 200 of them are not for connections
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before)) }()
	s := serve(t, 2*time.Millisecond, nil)
	p := profileOf(profile.Stage{Arrival: profile.Burst, Requests: 600})
	o, all, _ := run(t, t.Context(), s, p, randomIDs(t, p), 1)
	require.Len(t, all, 600)
	require.LessOrEqual(t, s.most.Load(), int64(30))
	require.LessOrEqual(t, o.Loops[0].QueueMax, 30, "requests that wait for a connection")
	for i := range all {
		require.True(t, all[i].OK(), all[i].Reason)
		require.Equal(t, all[i].DueNS, all[i].ReadyNS)
	}
}

func TestClosedLoop(t *testing.T) {
	s := serve(t, 2*time.Millisecond, nil)
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 3, Requests: 30, ThinkTime: profile.FixedAt(.005)},
		profile.Stage{Arrival: profile.Closed, Concurrency: 2, Duration: 100 * time.Millisecond})
	o, all, _ := run(t, t.Context(), s, p, randomIDs(t, p), 2)
	require.LessOrEqual(t, s.most.Load(), int64(3))
	require.EqualValues(t, 30, o.Spans[0].Requests)
	require.Greater(t, len(all), 40)
	ends := map[int64]bool{}
	for _, r := range all {
		require.True(t, r.OK(), r.Reason)
		ends[r.EndNS] = true
	}
	firsts := 0
	for _, r := range all[:30] {
		if !ends[r.DueNS-int64(5*time.Millisecond)] {
			firsts++
		}
	}
	require.Equal(t, 3, firsts, "all others are due 5 ms after an answer")
	last := slices.MaxFunc(all, func(a, b eventlog.Request) int { return int(a.DueNS - b.DueNS) })
	require.Less(t, last.DueNS, o.Spans[1].StartNS+int64(100*time.Millisecond))
}

// chain is a session of turns, each of which waits for the one before.
func chain(n int, delay time.Duration) (calls []prompts.Call) {
	for i := range n {
		c := prompts.Call{}
		if i > 0 {
			c = prompts.Call{After: []int{i - 1}, Delay: delay}
		}
		calls = append(calls, c)
	}
	return calls
}

// Users of a closed stage run whole conversations, whose prompts contain the earlier messages.
func TestConversations(t *testing.T) {
	for api, want := range map[string]string{
		"completions": `"prompt":"[s0 c0]answer[s0 c1]answer[s0 c2]"`,
		"chat": `"messages":[{"role":"user","content":"[s0 c0]"},{"role":"assistant","content":"answer"},` +
			`{"role":"user","content":"[s0 c1]"},{"role":"assistant","content":"answer"},{"role":"user","content":"[s0 c2]"}]`,
	} {
		s := serve(t, time.Millisecond, nil)
		src := &list{sessions: [][]prompts.Call{chain(3, 2*time.Millisecond), chain(3, 0)}, conversations: 2}
		p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 2, Requests: 60})
		p.API.Kind = api
		_, all, _ := run(t, t.Context(), s, p, src, 2)
		require.Len(t, all, 60)
		require.Condition(t, func() bool {
			return slices.ContainsFunc(sorted(s), func(b string) bool { return strings.Contains(b, want) })
		}, "%s: %v", api, sorted(s))
		bySession := map[int][]eventlog.Request{}
		for _, r := range all {
			bySession[r.Session] = append(bySession[r.Session], r)
		}
		require.GreaterOrEqual(t, len(bySession), 4)
		for id, turns := range bySession {
			require.LessOrEqual(t, len(turns), 3)
			for i := 1; i < len(turns); i++ {
				require.Equal(t, i, turns[i].Turn)
				wait := turns[i].DueNS - turns[i-1].EndNS
				require.Contains(t, []int64{0, int64(2 * time.Millisecond)}, wait, "session %d", id)
			}
		}
	}
}

// All requests of a session carry its id, and every request the fields of the profile.
func TestHeaders(t *testing.T) {
	s := serve(t, time.Millisecond, nil)
	src := &list{sessions: [][]prompts.Call{chain(3, 0)}, conversations: 2}
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 2, Requests: 12})
	p.API.Headers, p.API.SessionHeader = map[string]string{"x-slo": "250"}, "x-session-id"
	_, all, _ := run(t, t.Context(), s, p, src, 2)
	want, got := map[string]int{}, map[string]int{}
	for _, r := range all {
		want[fmt.Sprint("run-", r.Session)]++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.headers {
		require.Equal(t, "250", h.Get("X-Slo"))
		got[h.Get("X-Session-Id")]++
	}
	require.Equal(t, want, got)
	require.GreaterOrEqual(t, len(got), 4)
}

// Turns with due times wait for the previous answer.
func TestTurnsAtARate(t *testing.T) {
	s := serve(t, 30*time.Millisecond, nil)
	src := &list{sessions: [][]prompts.Call{chain(2, 0)}, conversations: 2}
	p := profileOf(profile.Stage{Arrival: profile.Constant, Rate: 200, Requests: 8})
	_, all, _ := run(t, t.Context(), s, p, src, 1)
	require.Len(t, all, 8)
	require.LessOrEqual(t, s.most.Load(), int64(2), "one turn of each conversation at a time")
	slices.SortFunc(all, func(a, b eventlog.Request) int { return int(a.DueNS - b.DueNS) })
	for i := 2; i < 8; i++ {
		r, before := all[i], all[i-2]
		require.Equal(t, int64(5*time.Millisecond), r.DueNS-all[i-1].DueNS)
		require.GreaterOrEqual(t, r.ReadyNS, before.EndNS)
		require.GreaterOrEqual(t, r.SentNS, r.ReadyNS)
	}
}

// A graph of calls: two follow the first at once, and the last waits for both.
func TestSessionGraph(t *testing.T) {
	s := serve(t, 5*time.Millisecond, nil)
	graph := []prompts.Call{{}, {After: []int{0}}, {After: []int{0}, Delay: 20 * time.Millisecond}, {After: []int{1, 2}}}
	src := &list{sessions: [][]prompts.Call{graph, graph, graph}, answer: "recorded"}
	p := profileOf(profile.Stage{Arrival: profile.Sessions, Concurrency: 2})
	p.Data.Kind = profile.Recorded
	o, all, _ := run(t, t.Context(), s, p, src, 2)
	require.Len(t, all, 12)
	require.Len(t, o.Spans, 1)
	by := map[[2]int]eventlog.Request{}
	for _, r := range all {
		by[[2]int{r.Session, r.Turn}] = r
	}
	for id := 1; id <= 3; id++ {
		r := func(turn int) eventlog.Request { return by[[2]int{id, turn}] }
		require.Equal(t, r(0).EndNS, r(1).DueNS)
		require.Equal(t, r(0).EndNS+int64(20*time.Millisecond), r(2).DueNS)
		require.Equal(t, max(r(1).EndNS, r(2).EndNS), r(3).DueNS)
	}
	require.Contains(t, strings.Join(sorted(s), "\n"), `[s0 c0]recorded[s0 c1]`)
	require.Contains(t, []int64{by[[2]int{1, 3}].EndNS, by[[2]int{2, 3}].EndNS}, by[[2]int{3, 0}].DueNS,
		"the third session begins when one of two has ended")
}

// A user thinks after each answer, within a conversation and before the next one. A call's own delay comes in addition.
func TestUsersThinkBetweenTheirCalls(t *testing.T) {
	const think, delay = 30 * time.Millisecond, 10 * time.Millisecond
	s := serve(t, time.Millisecond, nil)
	src := &list{sessions: [][]prompts.Call{chain(3, delay)}, conversations: 1}
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 6,
		ThinkTime: profile.FixedAt(think.Seconds())})
	_, all, _ := run(t, t.Context(), s, p, src, 1)
	require.Len(t, all, 6)
	for i := 1; i < len(all); i++ {
		pause := think
		if all[i].Turn > 0 {
			pause += delay
		}
		require.InDelta(t, pause, all[i].DueNS-all[i-1].EndNS, 1, "request %d is turn %d", i, all[i].Turn)
	}
}

// The length of a stage of sessions: a count, a duration, the first of both, or what earlier stages left.
func TestLengthOfSessions(t *testing.T) {
	const long, short = time.Hour, 200 * time.Millisecond
	for name, c := range map[string]struct {
		stages      []profile.Stage
		least, most int
	}{
		"a count":              {[]profile.Stage{{Requests: 5}}, 5, 5},
		"a count within time":  {[]profile.Stage{{Requests: 5, Duration: long}}, 5, 5},
		"a duration":           {[]profile.Stage{{Duration: short}}, 4, 1000},
		"time before a count":  {[]profile.Stage{{Requests: 1000, Duration: short}}, 1, 999},
		"neither":              {[]profile.Stage{{}}, 3, 3},
		"a count, then others": {[]profile.Stage{{Requests: 1}, {}}, 3, 3},
		"all, then none":       {[]profile.Stage{{}, {}}, 3, 3},
		"more, then a count":   {[]profile.Stage{{Requests: 7}, {}, {Requests: 1}}, 8, 8},
	} {
		t.Run(name, func(t *testing.T) {
			src := &list{sessions: [][]prompts.Call{chain(1, 0), chain(1, 0), chain(1, 0)}}
			for i := range c.stages {
				c.stages[i].Arrival, c.stages[i].Concurrency = profile.Sessions, 1
			}
			p := profileOf(c.stages...)
			p.Data.Kind = profile.Recorded
			s := serve(t, 5*time.Millisecond, nil)
			_, all, _ := run(t, t.Context(), s, p, src, 1)
			require.GreaterOrEqual(t, len(all), c.least)
			require.LessOrEqual(t, len(all), c.most)
			bodies := s.bodies
			for i := range bodies {
				require.Contains(t, bodies[i], fmt.Sprintf("[s%d c0]", i), "in order")
			}
		})
	}
}

// A session ends with a failed call, and its user begins another one.
func TestSessionFails(t *testing.T) {
	s := serve(t, 0, func(n int64) int {
		if n == 1 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	src := &list{sessions: [][]prompts.Call{chain(3, 0)}, conversations: 1}
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 4})
	_, all, _ := run(t, t.Context(), s, p, src, 1)
	require.Equal(t, ledger.Reason("http_500"), all[0].Reason)
	require.Equal(t, []int{1, 2, 2, 2}, []int{all[0].Session, all[1].Session, all[2].Session, all[3].Session})
}

// Cancelling ends the run soon, and everything in flight is recorded as cancelled.
func TestCancel(t *testing.T) {
	s := serve(t, time.Minute, nil)
	p := profileOf(profile.Stage{Arrival: profile.Constant, Rate: 100, Duration: time.Minute})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
	start := time.Now()
	o, all, end := run(t, ctx, s, p, randomIDs(t, p), 2)
	require.Less(t, time.Since(start), 10*time.Second)
	require.ErrorIs(t, o.Ended, why)
	require.False(t, end.Complete)
	require.NotEmpty(t, all)
	for _, r := range all {
		require.Equal(t, ledger.FailCancelled, r.Reason)
	}
}

func TestBreakers(t *testing.T) {
	fails := func(int64) int { return http.StatusServiceUnavailable }
	for name, load := range map[string]profile.Load{
		"max_errors":     {MaxErrors: 5},
		"max_error_rate": {ErrorRate: .5},
		"in a row":       {Breakers: []profile.Breaker{{Name: "b", Consecutive: 7, Match: []string{"503"}}}},
		"within":         {Breakers: []profile.Breaker{{Name: "b", Rate: .9, Window: time.Second, MinRequests: 10}}},
	} {
		s := serve(t, 0, fails)
		p := profileOf(profile.Stage{Arrival: profile.Constant, Rate: 200, Requests: 100_000})
		load.Stages = p.Load.Stages
		p.Load = load
		o, all, _ := run(t, t.Context(), s, p, randomIDs(t, p), 1)
		require.Contains(t, o.Spans[0].Stopped, name)
		require.Less(t, len(all), 2000)
		require.NoError(t, o.Ended)
	}
	s := serve(t, 0, fails)
	p := profileOf(profile.Stage{Arrival: profile.Constant, Rate: 200, Requests: 30, Timeout: 50 * time.Millisecond})
	p.Load.Breakers = []profile.Breaker{{Name: "b", Consecutive: 1, Match: []string{"connect", "500"}}}
	o, _, _ := run(t, t.Context(), s, p, randomIDs(t, p), 1)
	require.Contains(t, o.Spans[0].Stopped, "timeout")
}

func TestExtraMembers(t *testing.T) {
	s := serve(t, 0, nil)
	p := profileOf(profile.Stage{Arrival: profile.Burst, Requests: 40})
	p.API.Extra = map[string]any{"temperature": 0.5, "nested": map[string]any{"a": 1}}
	p.API.Adapters = []profile.Adapter{{Name: "x", Share: .5}, {Name: "y", Share: .5}}
	run(t, t.Context(), s, p, randomIDs(t, p), 1)
	models := map[string]int{}
	for _, text := range sorted(s) {
		var body map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &body))
		require.InDelta(t, .5, body["temperature"], 0)
		require.Equal(t, map[string]any{"a": 1.}, body["nested"])
		require.Equal(t, true, body["ignore_eos"])
		models[body["model"].(string)]++
	}
	require.InDelta(t, 20, models["x"], 10)
	require.Equal(t, 40, models["x"]+models["y"])
}

func TestHeap(t *testing.T) {
	h := heap[int64]{before: func(a, b int64) bool { return a < b }}
	for _, v := range []int64{5, 3, 9, 1, 7, 3} {
		h.push(v)
	}
	var got []int64
	for h.len() > 0 {
		got = append(got, h.pop())
	}
	require.Equal(t, []int64{1, 3, 3, 5, 7, 9}, got)
}

// The first visible token does not belong to the reasoning.
func TestReasoning(t *testing.T) {
	s := serve(t, 10*time.Millisecond, nil)
	s.think = true
	p := profileOf(profile.Stage{Arrival: profile.Burst, Requests: 3})
	p.API.Kind, p.Data = "chat", profile.Data{Kind: profile.Fixed, Text: "why?"}
	_, all, _ := run(t, t.Context(), s, p, randomIDs(t, p), 1)
	for _, r := range all {
		require.True(t, r.OK(), r.Reason)
		require.Len(t, r.Events, 3)
		require.Equal(t, r.Events[1].AtNS, r.VisibleNS)
		require.Greater(t, r.VisibleNS, r.FirstNS()) // by how much depends on when this machine read the first
	}
}
