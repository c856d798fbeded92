package sglang

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// usual is an event as SGLang sends it, with all ids so far.
const usual = `{"text":" word","output_ids":[1097],"meta_info":{"id":"0d5e7a19","finish_reason":null,"prompt_tokens":5,"weight_version":"default","total_retractions":0,"completion_tokens":1,"cached_tokens":0,"e2e_latency":0.25}}`

// documents are good and bad documents of all servers. The fuzzers start from them.
var documents = []string{
	usual,
	`{"output_ids":[10,11],"meta_info":{"finish_reason":{"type":"length","length":2},"completion_tokens":2}}`,
	`{"text":"a","output_ids":[10],"meta_info":{"finish_reason":{"type":"stop","matched":[1,"x"]},"prompt_tokens":null,"completion_tokens":1},"index":0}`,
	`{"text":"","output_ids":[],"meta_info":{"finish_reason":{"type":"abort","message":"full \"queue\"","status_code":503},"completion_tokens":0}}`,
	`{"text":"","output_ids":[],"meta_info":{"finish_reason":{"message":"why","type":"abort"}}}`,
	`{"meta_info":{"finish_reason":"stop"}}`, `{"meta_info":{"finish_reason":{}}}`,
	`{"meta_info":{"finish_reason":{"type":null}}}`, `{"meta_info":{"finish_reason":5}}`,
	`{"meta_info":null,"output_ids":null,"text":null}`, `{"index":1,"output_ids":[3]}`, `{"index":null}`,
	`{"object":"error","message":"m"}`, `{"object":"x"}`,
	`{"error":{"message":"m","code":400}}`, `{"error":"text"}`, `{"error":null}`, `{}`, `{"other":1}`,
	`{"output_ids":[1,-1]}`, `{"output_ids":[2147483648]}`, `{"output_ids":[1.0]}`, `{"output_ids":[1.5]}`,
	`{"output_ids":[null]}`, `{"output_ids":[1,2`, `{"output_ids":[1 2]}`, `{"output_ids":[,1]}`, `{"output_ids":[01]}`,
	`{"output_ids":[1,]}`, `{"output_ids":"x"}`, `{,"text":"a"}`, `{"meta_info":{,"id":"x"}}`,
	`{"output_ids":[ 1 , 2 ] , "text" : "a" }`, `{"output_ids":[1,2,3],"text":"a\n\"b\" \u00e9 \ud83d\ude00"}`,
	`{"text":"a\ud83d"}`, `{"text":"a\ud83d\ude00"}`, `{"text":"a\u00e9","text":"b"}`, `{"output_ids":[1e0]}`,
	`{"output_ids":[12]}`, `{"output_ids":[123,4]}`,
	"{\"text\":\"\xe2\x82\"}", "{\"text\":\"\xe2\x82\xac\"}", "{\"text\":\"a\nb\"}", `{"text":"a\"}`, `{"text":"a\x"}`,
	`{"text":5}`, `{"t\u0065xt":"a"}`,
	`[{"text":"a","output_ids":[1],"meta_info":{"completion_tokens":1,"finish_reason":null}}]`,
	`[{"text":"a"},{"text":"b"}]`, `[]`, `[1]`, `null`, `"x"`, ``, `{`, `{"text":"a"}x`,
}

// same requires that two readers have read the same event.
func same(t require.TestingT, doc string, a, b *reader.Event) {
	require.Equal(t, []int{a.Choices, int(a.Index), int(a.Prompt), int(a.Produced)},
		[]int{b.Choices, int(b.Index), int(b.Prompt), int(b.Produced)}, doc)
	require.True(t, slices.Equal(a.IDs, b.IDs), "%v %v: %s", a.IDs, b.IDs, doc)
	require.Equal(t, []bool{a.HasIDs, a.BadID, a.HasText, a.IsError, a.Finish == nil, a.MayRepeat},
		[]bool{b.HasIDs, b.BadID, b.HasText, b.IsError, b.Finish == nil, b.MayRepeat}, doc)
	require.Equal(t, []string{string(a.Text), string(a.Finish), string(a.Why), string(a.Message)},
		[]string{string(b.Text), string(b.Finish), string(b.Why), string(b.Message)}, doc)
}

// checkWalk reads documents in turn with one walker, and compares each event with that of encoding/json.
func checkWalk(t require.TestingT, keepText bool, docs ...string) (sure bool) {
	w := &walker{Scanner: reader.Scanner{KeepText: keepText}}
	var before []int32
	for _, doc := range docs {
		var slow, fast reader.Event
		err := (&walker{Scanner: reader.Scanner{KeepText: keepText}}).decodeSlow([]byte(doc), &slow)
		if sure = w.walk([]byte(doc), &fast); !sure {
			w.Forget()
			before = nil
			continue
		}
		require.NoError(t, err, doc)
		same(t, doc, &fast, &slow)
		require.LessOrEqual(t, fast.Known, len(before))
		require.True(t, slices.Equal(fast.IDs[:fast.Known], before[:fast.Known]), "ids that are reported as known: %s", doc)
		if fast.HasIDs {
			before = slices.Clone(fast.IDs)
		}
	}
	return sure
}

func TestWalkAgainstEncodingJSON(t *testing.T) {
	for _, doc := range documents {
		for _, before := range documents {
			checkWalk(t, true, before, doc, doc)
			checkWalk(t, false, before, doc)
		}
	}
	require.True(t, checkWalk(t, false, usual), "the walk reads the usual event")
	require.True(t, checkWalk(t, true, usual))
	require.False(t, checkWalk(t, true, usual, `{"output_ids":[10971.5]}`))
}

func FuzzEvents(f *testing.F) {
	for i, doc := range documents {
		f.Add(documents[(i+1)%len(documents)], doc, true)
	}
	f.Fuzz(func(t *testing.T, first, second string, keepText bool) { checkWalk(t, keepText, first, second, second) })
}

// stream is an answer in events of several tokens each, in one of the modes.
type stream struct {
	ids   []int32
	words []string // the text of each
	sizes []int
	mode  backends.StreamMode
	index int // of its prompt in a batch
}

func (s *stream) text() string { return strings.Join(s.words, "") }

func (s *stream) events() (docs []string) {
	at := 0
	for i, n := range s.sizes {
		from, textFrom := at, at
		at += n
		switch s.mode {
		case backends.StreamCumulative:
			from, textFrom = 0, 0
		case backends.StreamIncrementalIDs:
			textFrom = 0
		}
		finish := "null"
		if i == len(s.sizes)-1 {
			finish = `{"type":"length"}`
		}
		ids, _ := json.Marshal(s.ids[from:at])
		text, _ := json.Marshal(strings.Join(s.words[textFrom:at], ""))
		docs = append(docs, fmt.Sprintf(`{"text":%s,"output_ids":%s,"meta_info":{"finish_reason":%s,"prompt_tokens":1,"completion_tokens":%d},"index":%d}`, text, ids, finish, at, s.index))
	}
	return docs
}

// mode returns the mode of a stream that repeats ids and text, or neither.
func mode(cumulative bool) backends.StreamMode {
	if cumulative {
		return backends.StreamCumulative
	}
	return backends.StreamIncremental
}

// TestAnswerOfAnyEvents reads streams with events of any size in both modes. The answers must be the same, and the
// tokens of their events must be all their tokens.
func TestAnswerOfAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t, mode(rapid.Bool().Draw(t, "cumulative")))
		a := newAnswer(&backends.Config{RequestOptions: backends.RequestOptions{Stream: true},
			AnswerOptions: backends.AnswerOptions{NeedIDs: true, KeepText: true, Vocabulary: 31}})
		a.Begin("text/event-stream")
		body := "data: " + strings.Join(s.events(), "\n\ndata: ") + "\n\ndata: [DONE]\n\n"
		counted, given, kept := 0, [][]int32{}, [][]int32{}
		for p := []byte(body); len(p) > 0; {
			var n int
			if n, p = a.Feed(p); n > 0 {
				counted += n
				given, kept = append(given, a.Tokens()), append(kept, slices.Clone(a.Tokens()))
			}
		}
		var o backends.Outcome
		require.Empty(t, a.Finish(&o, backends.OK))
		require.Equal(t, backends.OK, o.Reason)
		require.Equal(t, s.ids, o.Tokens)
		require.Equal(t, s.text(), string(o.Text))
		require.Equal(t, []int{len(s.ids), len(s.ids)}, []int{counted, o.UsageTokens})
		require.Equal(t, kept, given, "returned ids do not change")
	})
}

func TestInconsistentAnswers(t *testing.T) {
	event := func(ids string, count string) string {
		return `data: {"output_ids":[` + ids + `],"meta_info":{"finish_reason":null,"completion_tokens":` + count + `}}` +
			"\n\n"
	}
	last := func(ids string, count string) string {
		return strings.Replace(event(ids, count), "null", `{"type":"length"}`, 1)
	}
	for _, c := range []struct {
		name, body string
		want       backends.Reason
		tokens     []int32
		text       string
	}{
		{"taken back and sent again", event("1,2,3", "3") + event("1,9", "2") + last("1,9,4,5", "4"), backends.FailBadEvent,
			[]int32{1, 2, 3}, "replaces ids that were sent before"},
		{"taken back at the end", event("1,2,3", "3") + last("1,2", "2"), backends.FailBadEvent, []int32{1, 2, 3},
			"replaces ids that were sent before"},
		{"other ids of the same number", event("1,2,3", "3") + last("4,5,6", "3"), backends.FailBadEvent, []int32{1, 2, 3},
			"replaces"},
		{"the count comes before the ids", event("1,2", "1") + event("1,2,3", "2") + last("1,2,3,4", "4"), backends.OK,
			[]int32{1, 2, 3, 4}, ""},
		{"an event twice, incremental", event("1", "1") + event("2", "2") + event("2", "2") + last("3", "3"),
			backends.FailTokenCount, []int32{1, 2}, "came twice"},
		{"an event twice, cumulative", event("1", "1") + event("1,2", "2") + event("1,2", "2") + last("1,2,3", "3"),
			backends.OK, []int32{1, 2, 3}, ""},
		{"increments after a cumulative event", event("1", "1") + event("1,2", "2") + last("3", "3"), backends.FailBadEvent,
			[]int32{1, 2}, "as the previous events showed"},
		{"an end without ids", event("1", "1") + event("2", "2") + last("", "2"), backends.OK, []int32{1, 2}, ""},
		{"an event was lost", event("1", "1") + event("3", "3") + last("4", "4"), backends.FailTokenCount, []int32{1},
			"1 token ids after 1 others, and its meta_info.completion_tokens is 3: events are missing"},
		{"cumulative after increments", event("1", "1") + event("2", "2") + last("1,2,3", "3"), backends.FailBadEvent,
			[]int32{1, 2}, "it repeats all ids"},
		{"no counts", event("1", "null") + last("2", "null"), backends.FailBadEvent, []int32{1},
			"no meta_info.completion_tokens"},
		{"no counts, one event", strings.ReplaceAll(last("1", "-"), "-", "null"), backends.OK, []int32{1}, ""},
		{"one beyond the vocabulary", event("1", "1") + last("1,100", "2"), backends.FailBadEvent, []int32{1},
			"token id 100"},
		{"more than counted", last("1,2,3", "2"), backends.FailTokenCount, []int32{1, 2, 3}, ""},
		{"fewer than counted", last("1", "2"), backends.FailTokenCount, nil, "events are missing"},
		{"nothing", last("", "0"), backends.FailEmpty, nil, "no output token"},
		{"abort keeps what came", event("1", "1") + strings.Replace(last("", "0"), `"length"`,
			`"abort","message":"shut down"`, 1), backends.FailAborted, []int32{1}, "shut down"},
		{"another answer", strings.Replace(event("1", "1"), `{"output`, `{"index":1,"output`, 1), backends.FailBadEvent, nil,
			"index 1"},
		{"a first text without ids", strings.ReplaceAll(event("", "1"), `"output_ids":[]`, `"text":"w"`) + last("1,2", "2"),
			backends.FailTokenCount, []int32{1, 2}, "first"},
		{"ids, then text without any", event("1", "1") + strings.ReplaceAll(event("", "2"), `"output_ids":[]`, `"text":"w"`) +
			last("", "2"), backends.FailTokenCount, []int32{1}, ""},
		{"no ids", strings.ReplaceAll(last("", "2"), `"output_ids":[]`, `"text":"w"`), backends.FailBadEvent, nil,
			"output_ids since SGLang 0.4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAnswer(&backends.Config{RequestOptions: backends.RequestOptions{Stream: true},
				AnswerOptions: backends.AnswerOptions{NeedIDs: true, Vocabulary: 100}})
			a.Begin("text/event-stream")
			for p := []byte(c.body + "data: [DONE]\n\n"); len(p) > 0; {
				_, p = a.Feed(p)
			}
			var o backends.Outcome
			detail := a.Finish(&o, backends.OK)
			require.Equal(t, c.want, o.Reason, detail)
			require.Contains(t, detail, c.text)
			require.True(t, slices.Equal(c.tokens, o.Tokens), "%v", o.Tokens)
		})
	}
}

// TestOldServers reads answers of servers that send text without ids. The server's count is used, and the beginnings of
// the texts decide how they are joined.
func TestOldServers(t *testing.T) {
	for _, texts := range [][]string{{" a", " a b", " a b c"}, {" a", " b", " c"}} {
		a := newAnswer(&backends.Config{RequestOptions: backends.RequestOptions{Stream: true},
			AnswerOptions: backends.AnswerOptions{KeepText: true}})
		a.Begin("text/event-stream")
		for i, text := range texts {
			finish := "null"
			if i == len(texts)-1 {
				finish = `{"type":"stop"}`
			}
			n, _ := a.Feed(fmt.Appendf(nil, `data: {"text":%q,"meta_info":{"finish_reason":%s,"completion_tokens":%d}}`+"\n\n",
				text, finish, 2*i+1))
			require.Equal(t, min(i+1, 2), n)
		}
		var o backends.Outcome
		require.Empty(t, a.Finish(&o, backends.OK))
		require.Equal(t, " a b c", string(o.Text))
		require.Equal(t, 5, o.NTokens)
		require.Equal(t, backends.TokensFromUsage, o.TokenSource)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte("data: "+usual+"\n\ndata: [DONE]\n\n"), true, 7)
	for _, cumulative := range []bool{true, false} {
		s := stream{ids: []int32{1, 2, 3}, words: []string{"a", "b", "c"}, sizes: []int{1, 2}, mode: mode(cumulative)}
		f.Add([]byte("data: "+strings.Join(s.events(), "\n\ndata: ")+"\n\n"), true, 3)
	}
	f.Add([]byte(usual), false, 3)
	f.Fuzz(func(t *testing.T, body []byte, streamed bool, step int) {
		wiretest.SameInSteps(t, func() wire.Answer {
			return newAnswer(&backends.Config{RequestOptions: backends.RequestOptions{Stream: streamed},
				AnswerOptions: backends.AnswerOptions{KeepText: true, Vocabulary: 1000}})
		}, streamed, body, step)
	})
}

// long returns a stream of 1000 events with one token each.
func long(cumulative bool) []byte {
	s := stream{mode: mode(cumulative)}
	for i := range int32(1000) {
		s.ids, s.words, s.sizes = append(s.ids, 1000+i), append(s.words, "word "), append(s.sizes, 1)
	}
	return []byte("data: " + strings.Join(s.events(), "\n\ndata: ") + "\n\n")
}

func readAll(a wire.Answer, body []byte) {
	a.Begin("text/event-stream; charset=utf-8")
	for p := body; len(p) > 0; {
		_, p = a.Feed(p)
	}
}

func TestAnswerAllocatesNothing(t *testing.T) {
	for _, cumulative := range []bool{true, false} {
		a := newAnswer(&backends.Config{RequestOptions: backends.RequestOptions{Stream: true},
			AnswerOptions: backends.AnswerOptions{NeedIDs: true}})
		body := long(cumulative)
		var o backends.Outcome
		require.Zero(t, testing.AllocsPerRun(5, func() { readAll(a, body) }))
		a.Finish(&o, backends.OK)
		require.Equal(t, 1000, o.NTokens)
	}
}

func BenchmarkAnswer(b *testing.B) {
	for name, cumulative := range map[string]bool{"cumulative": true, "incremental": false} {
		b.Run(name, func(b *testing.B) {
			a := newAnswer(&backends.Config{RequestOptions: backends.RequestOptions{Stream: true},
				AnswerOptions: backends.AnswerOptions{NeedIDs: true}})
			body := long(cumulative)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				readAll(a, body)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/token")
		})
	}
	b.Run("encoding-json, cumulative", func(b *testing.B) {
		body := long(true)
		for b.Loop() {
			for line := range strings.SplitSeq(string(body), "\n\n") {
				var v struct {
					Text string
					IDs  []int32 `json:"output_ids"`
					Meta struct {
						Finish    any `json:"finish_reason"`
						Completed int `json:"completion_tokens"`
					} `json:"meta_info"`
				}
				if doc, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(doc), &v) != nil {
					b.Fatal(doc)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/token")
	})
}
