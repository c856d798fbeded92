package engine

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/quote"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// The record of a request contains what the client reported, and nothing that it did not know.
func TestRecordOfARequest(t *testing.T) {
	for name, c := range map[string]struct {
		o    backends.Outcome
		want eventlog.Request
	}{
		"answer": {backends.Outcome{SentNS: 1, FirstByteNS: 2, VisibleNS: 3, InputTokens: 4, NTokens: 5,
			CachedTokens: 3, Endpoint: 6, Retries: 7, FinishReason: "stop"},
			eventlog.Request{ReadyNS: 40, SentNS: 1, FirstByteNS: 2, VisibleNS: 3, EndNS: 100, InputTokens: 4,
				OutputTokens: 5, CachedTokens: 3, HasCached: true, Endpoint: 6, Retries: 7, Finish: "stop"}},
		"no count of cached tokens": {backends.Outcome{SentNS: 1, InputTokens: 4, CachedTokens: -1},
			eventlog.Request{ReadyNS: 40, SentNS: 1, EndNS: 100, InputTokens: 4}},
		"unknown": {backends.Outcome{InputTokens: -1, NTokens: -1, Endpoint: -1, Reason: "connect"},
			eventlog.Request{ReadyNS: 40, EndNS: 100, Reason: "connect"}},
		"refused at first": {backends.Outcome{SentNS: 90, TriedNS: 70},
			eventlog.Request{ReadyNS: 60, SentNS: 90, EndNS: 100}},
		"abandoned": {backends.Outcome{Reason: backends.Abandoned, NTokens: 9},
			eventlog.Request{ReadyNS: 40, EndNS: 100, Cancelled: true, OutputTokens: 2}},
	} {
		k := &sink{table: &table{}, queue: queueWith(t, 0, new(int)), now: func() int64 { return 100 },
			isUsers: func() bool { return false }}
		k.table.get()
		s := k.table.get()
		s.rec.ReadyNS, s.rec.Events = 40, []eventlog.Event{{AtNS: 1, Tokens: 2}}
		c.want.Events = s.rec.Events
		k.Complete(loadgen.Query{Seq: s.index}, &c.o)
		require.Equal(t, c.want, s.rec, name)
		require.Equal(t, []*slot{s}, k.queue.ended, name)
	}
}

// An answer that is longer than its limit has failed, and so has one that the server cut before.
func TestLengthsOfAnswers(t *testing.T) {
	ids, usage, text := backends.TokensFromIDs, backends.TokensFromUsage, backends.TokensFromTokenizer
	for name, c := range map[string]struct {
		asked int
		o     backends.Outcome
		want  ledger.Reason
	}{
		"as asked":          {5, backends.Outcome{NTokens: 5, FinishReason: "length", TokenSource: ids}, ""},
		"longer":            {5, backends.Outcome{NTokens: 6, FinishReason: "length", TokenSource: usage}, "too_large"},
		"longer, stopped":   {5, backends.Outcome{NTokens: 6, FinishReason: "stop", TokenSource: ids}, "too_large"},
		"cut":               {5, backends.Outcome{NTokens: 4, FinishReason: "length", TokenSource: usage}, "too_short"},
		"cut by Anthropic":  {5, backends.Outcome{NTokens: 4, FinishReason: "max_tokens", TokenSource: usage}, "too_short"},
		"ended by itself":   {5, backends.Outcome{NTokens: 4, FinishReason: "stop", TokenSource: ids}, ""},
		"counted in a text": {5, backends.Outcome{NTokens: 6, FinishReason: "length", TokenSource: text}, ""},
		"no limit":          {0, backends.Outcome{NTokens: 6, FinishReason: "length", TokenSource: ids}, ""},
		"failed already":    {5, backends.Outcome{NTokens: 6, Reason: "reset", TokenSource: ids}, "reset"},
	} {
		var failed []backends.Attempt
		k := &sink{table: &table{}, queue: queueWith(t, 0, new(int)), now: func() int64 { return 100 },
			isUsers: func() bool { return false }, failed: func(a backends.Attempt) { failed = append(failed, a) }}
		s := k.table.get()
		s.rec.AskedOutput = c.asked
		k.Complete(loadgen.Query{Seq: s.index}, &c.o)
		require.Equal(t, c.want, s.rec.Reason, name)
		if c.o.Reason != c.want {
			require.Len(t, failed, 1, name)
			require.Equal(t, c.want, failed[0].Reason, name)
			require.EqualValues(t, 100, failed[0].AtNS, name)
		}
	}
}

// A user sends the next request after his own answer, and none after that of a session.
func TestAnswersOfUsers(t *testing.T) {
	for _, c := range []struct {
		session *session
		isUsers bool
		want    []int64
	}{{nil, true, []int64{107}}, {nil, false, nil}, {&session{}, true, nil}} {
		k := &sink{table: &table{}, queue: queueWith(t, 0, new(int)), now: func() int64 { return 100 },
			isUsers: func() bool { return c.isUsers }}
		s := k.table.get()
		s.thinkNS, s.session, k.queue.inFlight = 7, c.session, 3
		k.Complete(loadgen.Query{Seq: s.index}, &backends.Outcome{})
		require.Equal(t, c.want, k.queue.users.list)
		require.Equal(t, 2, k.queue.inFlight)
	}
}

// An answer is copied if later prompts contain it.
func TestAnswersThatAreKept(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		k := &sink{table: &table{}, queue: queueWith(t, 0, new(int)), now: func() int64 { return 100 },
			isUsers: func() bool { return false }}
		s := k.table.get()
		s.keeps, s.ids, s.text = keeps, []int32{9}, []byte("old")
		o := &backends.Outcome{Tokens: []int32{1, 2}, Text: []byte("new")}
		k.Complete(loadgen.Query{Seq: s.index}, o)
		o.Tokens[0], o.Text[0] = 0, 'x' // the client uses them again
		if !keeps {
			require.Equal(t, []any{[]int32{9}, "old"}, []any{s.ids, string(s.text)})
			continue
		}
		require.Equal(t, []any{[]int32{1, 2}, "new"}, []any{s.ids, string(s.text)})
	}
}

// A slot that is used again is empty, and keeps memory that is not too large.
func TestSlotsAreUsedAgain(t *testing.T) {
	var tab table
	for bytes, kept := range map[int]bool{keepBody: true, keepBody + 1: false} {
		s := tab.get()
		body := make([]byte, bytes)
		full := slot{index: s.index, body: body, own: body[:len(body):len(body)], head: []byte("h"), ids: []int32{1},
			text: []byte("t"), number: 3, call: 4, notBefore: 5, more: 6, thinkNS: 7, keeps: true, session: &session{}}
		full.rec = eventlog.Request{Seq: 9, Events: []eventlog.Event{{AtNS: 1}}}
		*s = full
		tab.put(s)
		again := tab.get()
		require.Same(t, s, again)
		require.Equal(t, kept, cap(s.own) == bytes, bytes)
		require.Nil(t, s.body, "others may share it")
		require.Equal(t, []int{0, 0, 0, 0, 0}, []int{len(s.own), len(s.head), len(s.ids), len(s.text), len(s.rec.Events)})
		require.Equal(t, []int{1, 1, 1, 1}, []int{cap(s.head), cap(s.ids), cap(s.text), cap(s.rec.Events)})
		s.own, s.head, s.ids, s.text, s.rec.Events = nil, nil, nil, nil, nil
		require.Equal(t, slot{index: full.index}, *s)
		tab.put(s)
	}
	first, second := tab.get(), tab.get()
	require.Equal(t, []int{0, 1}, []int{first.index, second.index})
	require.Same(t, first, tab.at(0))
	require.Same(t, second, tab.at(1))
}

// Branches of a session share their history without changing it.
func TestHistories(t *testing.T) {
	var none *History
	ids := none.after(&prompts.Request{IDs: []int32{1, 2}}, false, []int32{3}, "ignored")
	require.Equal(t, &History{IDs: []int32{1, 2, 3}}, ids)
	left := ids.after(&prompts.Request{IDs: []int32{4}}, false, []int32{5}, "")
	right := ids.after(&prompts.Request{IDs: []int32{6}}, false, []int32{7}, "")
	require.Equal(t, []int32{1, 2, 3, 4, 5}, left.IDs)
	require.Equal(t, []int32{1, 2, 3, 6, 7}, right.IDs)
	a, _ := left.prompt(&prompts.Request{IDs: []int32{8}})
	b, _ := left.prompt(&prompts.Request{IDs: []int32{9}})
	require.Equal(t, [][]int32{{1, 2, 3, 4, 5, 8}, {1, 2, 3, 4, 5, 9}}, [][]int32{a, b})

	text := none.after(&prompts.Request{Text: "ask "}, false, nil, "answer ")
	require.Equal(t, &History{Text: "ask answer "}, text)
	require.Equal(t, "ask answer more recorded",
		text.after(&prompts.Request{Text: "more ", Answer: "recorded"}, false, nil, "given").Text)

	chat := none.after(&prompts.Request{System: "be", Text: "ask"}, true, []int32{1}, "answer")
	require.Equal(t, &History{Messages: []byte(`{"role":"system","content":"be"},{"role":"user","content":"ask"},` +
		`{"role":"assistant","content":"answer"}`)}, chat)
}

// What a request asks of the protocol.
func TestSamplesOfRequests(t *testing.T) {
	e := &Encoder{eos: true, config: backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m"}}}
	s, c := e.Sample(&prompts.Request{IDs: []int32{1, 2}, Output: 3, Model: "other", Documents: []string{"d"},
		Tools: []byte("[]")}, nil)
	require.Equal(t, datasets.Sample{InputIDs: []int32{1, 2}, InputLen: 2, Documents: []string{"d"},
		Tools: []byte("[]")}, *s)
	require.Equal(t, []any{"other", 3, true}, []any{c.ServedModel, c.Sampling.MaxTokens, c.Sampling.IgnoreEOS})
	s, c = e.Sample(&prompts.Request{Text: "x"}, nil)
	require.Equal(t, datasets.Sample{Input: "x"}, *s)
	require.Equal(t, []any{"m", 0, false}, []any{c.ServedModel, c.Sampling.MaxTokens, c.Sampling.IgnoreEOS})
	_, c = e.Sample(&prompts.Request{Output: 1}, nil)
	require.True(t, c.Sampling.IgnoreEOS)
	e.chat, e.eos = true, false
	s, c = e.Sample(&prompts.Request{Output: 1}, nil)
	require.Nil(t, s.Messages, "no message")
	require.False(t, c.Sampling.IgnoreEOS)
}

// A member that JSON cannot express is refused with its name.
func TestMembersThatCannotBeSent(t *testing.T) {
	p := profileOf()
	p.API.Extra = map[string]any{"a": 1, "b": make(chan int)}
	_, err := NewEncoder(p, nil, &backends.Config{})
	require.ErrorContains(t, err, "profile test: api.extra.b cannot be sent as JSON")
}

// Times of clients are at least a nanosecond and at most a day.
func TestTimesOfClients(t *testing.T) {
	for s, want := range map[float64]time.Duration{0: 1, -5: 1, 1e-12: 1, 2e-9: 2, 1.5: 1500 * time.Millisecond,
		86_400: 24 * time.Hour, 86_401: 24 * time.Hour, 1e300: 24 * time.Hour} {
		require.Equal(t, want, seconds(s), s)
	}
	load := &profile.Load{Leave: &profile.Leave{Share: 1, Tokens: profile.FixedAt(0)}}
	c := conduct(load, func(uint64) *rand.Rand { return rand.New(rand.NewPCG(1, 2)) })
	require.Equal(t, backends.Conduct{LeaveTokens: 1}, c, "a client leaves after a token at the earliest")
}

// Messages have the bytes that encoding/json writes, whatever their text contains.
func TestMessagesAreThoseOfMarshal(t *testing.T) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	for _, text := range []string{"plain", "a \"b\"\n\tc", "<b> & 'c'", "caf\u00e9 \u4e16\u2028", "bad \xff\xe2\x80",
		"\x00\x7f"} {
		want, err := json.Marshal([]message{{"system", text}, {"user", text}})
		require.NoError(t, err)
		r := &prompts.Request{System: text, Text: text, Plain: quote.IsPlain(text)}
		e := &Encoder{chat: true}
		for range 2 { // the second one uses the memory of the first
			s, _ := e.Sample(r, nil)
			require.Equal(t, string(want), string(s.Messages))
			require.Equal(t, len(want), s.MessageBytes)
		}
		want, err = json.Marshal([]message{{"system", text}, {"user", text}, {"assistant", text}, {"user", "x"}})
		require.NoError(t, err)
		var none *History
		s, _ := e.Sample(&prompts.Request{Text: "x"}, none.after(r, true, nil, text))
		require.Equal(t, string(want), string(s.Messages))
	}
}

// prepared returns the request of a call, made by a maker of a profile.
func prepared(t *testing.T, m *maker, session, call, number int) *slot {
	t.Helper()
	s, err := m.prepare(session, call, number, nil)
	require.NoError(t, err)
	return s
}

// makerOf returns a maker of a profile with an encoder.
func makerOf(t *testing.T, p *profile.Profile, src prompts.Source, part Part) *maker {
	t.Helper()
	e, _ := engineOf(t, serve(t, 0, nil), p, src, 0)
	require.NoError(t, e.Log.Close(eventlog.End{}))
	e.Part = part
	m := newMaker(e)
	m.stage, m.firstSeq = 2, 100
	return &m
}

// Requests are numbered as they are planned, and in a part as in the whole.
func TestRequestsAreNumbered(t *testing.T) {
	for part, seqs := range map[Part][]int{{}: {0, 1}, {0, 1}: {0, 1}, {1, 3}: {104, 107}} {
		p := profileOf(profile.Stage{})
		p.API.IgnoreEOS = true
		m := makerOf(t, p, &list{sessions: [][]prompts.Call{{{}, {}}}}, part)
		for i, number := range []int{4, 7} {
			s := prepared(t, m, 5, 1, number)
			require.Equal(t, eventlog.Request{Seq: seqs[i], Stage: 2, AskedOutput: 2, RequestBytes: len(s.body)}, s.rec)
			require.Equal(t, []int{number, 1}, []int{s.number, s.call})
			require.Contains(t, string(s.body), "[s5 c1]")
			require.Equal(t, backends.Conduct{}, s.conduct)
		}
		require.Equal(t, []int{2, 2 * len(m.table.at(0).body)}, []int{m.planned, int(m.bodies)})
	}
}

// A request that the protocol refuses names its number, and leaves its memory to others.
func TestRequestsThatAreRefused(t *testing.T) {
	p := profileOf(profile.Stage{})
	m := makerOf(t, p, &list{sessions: [][]prompts.Call{{{}}}}, Part{})
	prepared(t, m, 0, 0, 0)
	p.API.Kind = "rerank" // no output, which completions need
	_, err := m.prepare(0, 0, 1, nil)
	require.ErrorContains(t, err, "request 1 cannot be built: ")
	require.Len(t, m.table.free, 1)
	require.Equal(t, 1, m.planned)
}

// Requests that generate nothing ask for no output, although recorded data have one.
func TestRequestsWithoutOutput(t *testing.T) {
	for kind, want := range map[string]int{"completions": 2, "embeddings": 0} {
		p := profileOf(profile.Stage{})
		p.API.Kind = kind
		m := makerOf(t, p, &list{sessions: [][]prompts.Call{{{}}}}, Part{})
		require.Equal(t, want, prepared(t, m, 0, 0, 0).rec.AskedOutput)
	}
}

// Equal profiles draw equal behaviour in every version: these values were drawn once.
func TestDraws(t *testing.T) {
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 9,
		ThinkTime: &profile.Distribution{Kind: "uniform", Min: 1, Max: 2}})
	p.API.Adapters = []profile.Adapter{{Name: "a", Share: .5}, {Name: "b", Share: .5}}
	half := &profile.Distribution{Kind: "uniform", Min: 1, Max: 100}
	p.Load.Leave, p.Load.Slow = &profile.Leave{Share: .5, Tokens: half}, &profile.Slow{Share: .5, Rate: half}
	src := &list{sessions: [][]prompts.Call{{{}, {}}}}
	m := makerOf(t, p, src, Part{})
	type draw struct {
		model   string
		conduct backends.Conduct
	}
	var got []draw
	for i := range 6 {
		s := prepared(t, m, 3+i/2, i%2, i)
		require.Equal(t, []bool{s.conduct.Leaves(), s.conduct.IsSlow()}, []bool{s.rec.Leaver, s.rec.Slow})
		name, _ := m.adapter(3 + i/2)
		require.Equal(t, name, p.API.Adapters[s.rec.Adapter-1].Name)
		require.Equal(t, len(s.body), s.rec.RequestBytes)
		got = append(got, draw{name, s.conduct})
	}
	require.Equal(t, []draw{{"b", backends.Conduct{LeaveTokens: 43}}, {"b", backends.Conduct{PerToken: 28978547}},
		{"a", backends.Conduct{PerToken: 21241134}}, {"a", backends.Conduct{LeaveTokens: 67, PerToken: 12787619}},
		{"a", backends.Conduct{LeaveTokens: 92}}, {"a", backends.Conduct{LeaveTokens: 34, PerToken: 147235868}}}, got)

	d := directorOf(t, 1, Part{}, src, p.Load.Stages[0])
	d.Engine = m.Engine
	k := &closed{director: d, first: 20}
	_, err := k.feed()
	require.NoError(t, err)
	var think []int64
	for _, s := range d.queues[0].stock[:3] {
		think = append(think, s.thinkNS)
	}
	require.Equal(t, []int64{1242295464, 1530284192, 1914288681}, think)

	k2 := sessionsOf(t, Part{}, &list{sessions: [][]prompts.Call{chain(3, 0)}}, profile.Stage{})
	k2.think, k2.first = p.Load.Stages[0].ThinkTime, 5
	require.NoError(t, k2.another(0, 0))
	for i := range 2 {
		s := k2.pending[i]
		s.rec.EndNS = 0
		require.NoError(t, k2.after(s))
	}
	require.Equal(t, []time.Duration{0, 1015607992, 1122997113}, due(k2.director))
}

// A server's failure is passed on by its loop.
func TestFailedAttemptsArePassedOn(t *testing.T) {
	var got []ledger.Reason
	k := &sink{failed: func(a backends.Attempt) { got = append(got, a.Reason) }}
	k.Failed(backends.Attempt{Reason: "connect"})
	require.Equal(t, []ledger.Reason{"connect"}, got)
}
