package sglang

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

var modes = []backends.StreamMode{backends.StreamCumulative, backends.StreamIncremental, backends.StreamIncrementalIDs}

// drawStream draws an answer and the grouping of its tokens into events. No word begins with another one, because such
// texts could be new or repeated if the mode is not declared.
func drawStream(t *rapid.T, m backends.StreamMode) stream {
	s := stream{ids: rapid.SliceOfN(rapid.Int32Range(0, 3), 1, 40).Draw(t, "ids"), mode: m}
	for i := range s.ids {
		s.words = append(s.words, fmt.Sprintf("%c%s\n", 'A'+i, rapid.SampledFrom([]string{"ab", `"q"`, "é"}).Draw(t, "word")))
	}
	for left := len(s.ids); left > 0; {
		n := rapid.IntRange(1, left).Draw(t, "size")
		s.sizes = append(s.sizes, n)
		left -= n
	}
	return s
}

// struck drops, repeats and swaps events of a stream. hit reports whether the stream changed.
func struck(t *rapid.T, docs []string) (left []string, hit bool) {
	for i, doc := range docs {
		switch rapid.SampledFrom([]string{"keep", "keep", "keep", "drop", "twice", "before"}).Draw(t, "event") {
		case "drop":
			hit = true
			continue
		case "twice":
			hit = true
			left = append(left, doc)
		case "before":
			if i > 0 && len(left) > 0 {
				hit = true
				left = slices.Insert(left, len(left)-1, doc)
				continue
			}
		}
		left = append(left, doc)
	}
	return left, hit
}

// declares returns a configuration for a server with the given mode; empty: unknown.
func declares(m backends.StreamMode, batch int) *backends.Config {
	return &backends.Config{
		Endpoints:      []backends.Endpoint{{StreamMode: m}},
		RequestOptions: backends.RequestOptions{Stream: true, Batch: batch},
		AnswerOptions:  backends.AnswerOptions{NeedIDs: true, KeepText: true, Vocabulary: 31},
	}
}

func begin(c *backends.Config) wire.Answer {
	a := newAnswer(c)
	a.Begin("text/event-stream")
	a.Expect(wire.Expected{StreamMode: c.Endpoints[0].StreamMode})
	return a
}

func sent(docs []string) []byte {
	return []byte("data: " + strings.Join(docs, "\n\ndata: ") + "\n\ndata: [DONE]\n\n")
}

// TestAnswersAreCompleteOrFail reads streams in every mode, with events that are missing, repeated or swapped, with the
// right mode declared, a wrong one, or none. The answer must be the server's to the last token, or fail. Undamaged
// streams of the declared mode must not fail.
func TestAnswersAreCompleteOrFail(t *testing.T) {
	counted := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t, rapid.SampledFrom(modes).Draw(t, "mode"))
		told := rapid.SampledFrom([]backends.StreamMode{"", s.mode, s.mode, modes[0], modes[1], modes[2]}).Draw(t, "told")
		docs, hit := struck(t, s.events())
		if !rapid.Bool().Draw(t, "faults") {
			docs, hit = s.events(), false
		}
		a := begin(declares(told, 0))
		reported := 0
		for p := sent(docs); len(p) > 0; {
			var n int
			n, p = a.Feed(p)
			reported += n
		}
		var o backends.Outcome
		detail := a.Finish(&o, backends.OK)
		if counted[o.Reason == backends.OK]++; o.Reason != backends.OK {
			require.NotEmpty(t, detail)
			require.False(t, !hit && told == s.mode, "a whole stream of the mode that was told: %s", detail)
			require.False(t, !hit && told == "" && s.mode != backends.StreamIncrementalIDs,
				"a whole stream of a mode that its counts show: %s", detail)
			return
		}
		require.Equal(t, s.ids, o.Tokens)
		require.Equal(t, []int{len(s.ids), len(s.ids), len(s.ids)}, []int{o.NTokens, o.UsageTokens, reported})
		if told == "" || told == s.mode { // a wrong declaration that concerns only the text cannot be detected
			require.Equal(t, s.text(), string(o.Text))
		}
	})
	require.Positive(t, min(counted[true], counted[false]), "both ends were seen: %v", counted)
}

// TestBatchesAreCompleteOrFail does the same for several prompts in one stream, whose events come in any order of the
// prompts.
func TestBatchesAreCompleteOrFail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(modes).Draw(t, "mode")
		told := rapid.SampledFrom([]backends.StreamMode{"", m, modes[0], modes[1]}).Draw(t, "told")
		answers := make([]stream, 3)
		var left [][]string
		hit := false
		for i := range answers {
			answers[i] = drawStream(t, m)
			answers[i].index = i
			docs := answers[i].events()
			if rapid.Bool().Draw(t, "faults") {
				var changed bool
				docs, changed = struck(t, docs)
				hit = hit || changed
			}
			left = append(left, docs)
		}
		var docs []string
		for len(left) > 0 {
			i := rapid.IntRange(0, len(left)-1).Draw(t, "next")
			if len(left[i]) == 0 {
				left = slices.Delete(left, i, i+1)
				continue
			}
			docs, left[i] = append(docs, left[i][0]), left[i][1:]
		}
		a := begin(declares(told, 3))
		reported := map[int]int{}
		for p := sent(docs); len(p) > 0; {
			var n int
			if n, p = a.Feed(p); n > 0 {
				for _, news := range a.News() {
					reported[news.Part] += news.N
				}
			}
		}
		var o backends.Outcome
		detail := a.Finish(&o, backends.OK)
		if !hit && told == m {
			require.Equal(t, backends.OK, o.Reason, detail)
			require.Len(t, o.Parts, 3)
		}
		for i := range o.Parts {
			p := &o.Parts[i]
			s := &answers[p.Index]
			if p.Reason != backends.OK {
				require.False(t, !hit && told == m, p.Detail)
				continue
			}
			require.Equal(t, s.ids, p.Tokens)
			require.Equal(t, []int{len(s.ids), len(s.ids), len(s.ids)}, []int{p.NTokens, p.UsageTokens, reported[p.Index]})
			if told == "" || told == m {
				require.Equal(t, s.text(), string(p.Text))
			}
		}
	})
}

// TestStreamsAgainstTheirMode rejects two kinds of streams that once passed: increments whose counts start again, so
// that some ids were taken for all of them, and cumulative streams that continue in increments.
func TestStreamsAgainstTheirMode(t *testing.T) {
	doc := func(from, n, said int, finish string) string {
		ids := strings.Trim(strings.ReplaceAll(fmt.Sprint(slices.Repeat([]int{from}, n)), " ", ","), "[]")
		return fmt.Sprintf(`{"output_ids":[%s],"meta_info":{"finish_reason":%s,"completion_tokens":%d}}`, ids, finish, said)
	}
	const end = `{"type":"length"}`
	for _, c := range []struct {
		name string
		told backends.StreamMode
		docs []string
		want backends.Reason
		text string
	}{
		{"counts that begin again, not told", "", []string{doc(1, 40, 40, "null"), doc(2, 40, 40, "null"),
			doc(3, 120, 160, end)}, backends.FailBadEvent, "replaces ids"},
		{"counts that begin again, incremental", backends.StreamIncremental,
			[]string{doc(1, 40, 40, "null"), doc(2, 160, 160, end)}, backends.FailTokenCount, "events are missing"},
		{"increments, told cumulative", backends.StreamCumulative, []string{doc(1, 40, 40, "null"), doc(1, 40, 80, end)},
			backends.FailBadEvent, "as the server's arguments or the preflight showed"},
		{"all ids, told incremental", backends.StreamIncremental, []string{doc(1, 40, 40, "null"), doc(1, 80, 80, end)},
			backends.FailBadEvent, "as the server's arguments or the preflight showed"},
		{"all ids and then increments", "", []string{doc(1, 40, 40, "null"), doc(1, 80, 80, "null"), doc(1, 40, 120, end)},
			backends.FailBadEvent, "as the previous events showed"},
		{"increments and then all ids", "", []string{doc(1, 40, 40, "null"), doc(1, 40, 80, "null"), doc(1, 120, 120, end)},
			backends.FailBadEvent, "as the previous events showed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := declares(c.told, 0)
			config.KeepText = false
			a := begin(config)
			readOn(a, sent(c.docs))
			var o backends.Outcome
			detail := a.Finish(&o, backends.OK)
			require.Equal(t, c.want, o.Reason)
			require.Contains(t, detail, c.text)
		})
	}
}

func readOn(a wire.Answer, body []byte) {
	for p := body; len(p) > 0; {
		_, p = a.Feed(p)
	}
}

// TestAmbiguousTexts rejects an answer whose text could be new or repeated, and accepts it if the mode is declared.
func TestAmbiguousTexts(t *testing.T) {
	event := func(text string, count int, finish string) string {
		return fmt.Sprintf(`{"text":%q,"output_ids":[7],"meta_info":{"finish_reason":%s,"completion_tokens":%d}}`, text,
			finish, count)
	}
	body := sent([]string{event("1", 1, "null"), event("10", 2, `{"type":"length"}`)})
	for told, want := range map[backends.StreamMode]string{backends.StreamIncremental: "110",
		backends.StreamIncrementalIDs: "10", "": ""} {
		a := begin(declares(told, 0))
		readOn(a, body)
		var o backends.Outcome
		detail := a.Finish(&o, backends.OK)
		if told == "" {
			require.Equal(t, backends.FailBadEvent, o.Reason)
			require.Contains(t, detail, "/server_info")
			continue
		}
		require.Equal(t, backends.OK, o.Reason, detail)
		require.Equal(t, want, string(o.Text))
	}
}

// TestRepeatedTextsContinue rejects an event whose text does not repeat the earlier text, in a stream that repeats all
// text. Only the last event may have less of it, because SGLang cuts off a stop string that it has begun to send.
func TestRepeatedTextsContinue(t *testing.T) {
	const going, stop = "null", `{"type":"stop","matched":"END"}`
	ids := map[backends.StreamMode][]string{
		backends.StreamCumulative:     {`"output_ids":[1],`, `"output_ids":[1,2],`, `"output_ids":[1,2,3],`},
		backends.StreamIncrementalIDs: {`"output_ids":[1],`, `"output_ids":[2],`, `"output_ids":[3],`},
	}
	for mode, list := range ids {
		for _, c := range []struct{ second, finish, want string }{
			{"a plan", going, "a plan b"}, {"a plan", stop, "a plan"}, {"a p", stop, "a p"}, {"a", stop, "a"},
			{"a plot", going, ""}, {"a p", going, ""}, {"b", going, ""}, {"b", stop, ""}, {"a post", stop, ""},
		} {
			event := func(i int, text, finish string) string {
				return fmt.Sprintf(`{"text":%q,%s"meta_info":{"finish_reason":%s,"completion_tokens":%d}}`, text, list[i],
					finish, i+1)
			}
			docs := []string{event(0, "a pl", going), event(1, c.second, c.finish)}
			if c.finish == going {
				docs = append(docs, event(2, "a plan b", stop))
			}
			a := begin(declares(mode, 0))
			readOn(a, sent(docs))
			var o backends.Outcome
			detail := a.Finish(&o, backends.OK)
			if c.want == "" {
				require.Equal(t, backends.FailBadEvent, o.Reason, "%q, then %q: %s", mode, c.second, detail)
				require.Contains(t, detail, "does not begin with the previous text")
				continue
			}
			require.Equal(t, backends.OK, o.Reason, detail)
			require.Equal(t, c.want, string(o.Text))
		}
	}
}
