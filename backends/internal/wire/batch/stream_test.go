package batch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// stream is a server's stream for a batch: events, a count of all tokens and [DONE].
type stream struct {
	pieces  []wiretest.Piece
	prompts int    // tokens of the prompts by the server's count
	count   int    // number of tokens; negative: not sent
	raw     string // before the count
	done    bool
}

// good is a stream of two events a prompt, the first token of the last prompt first.
func good(prompts [][]int, native bool) *stream {
	s := &stream{prompts: 2 * len(prompts), count: 2 * len(prompts), done: true}
	for i, p := range slices.Backward(prompts) {
		s.pieces = append(s.pieces, wiretest.Piece{Index: i, IDs: []int{p[0]}})
	}
	for i, p := range prompts {
		ids := []int{7}
		if native { // repeats everything so far
			ids = []int{p[0], 7}
		}
		s.pieces = append(s.pieces, wiretest.Piece{Index: i, IDs: ids, Finish: "stop"})
	}
	return s
}

func (s *stream) text(native bool) string {
	var b strings.Builder
	for _, p := range s.pieces {
		if native {
			b.WriteString(p.NativeEvent())
		} else {
			b.WriteString(p.CompletionEvent())
		}
	}
	b.WriteString(s.raw)
	if s.count >= 0 && !native {
		fmt.Fprintf(&b, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\n", s.prompts,
			s.count)
	}
	if s.done {
		b.WriteString("data: [DONE]\n\n")
	}
	return b.String()
}

// serveStreams answers streamed batches, and also over TLS with net/http.
func serveStreams(t *testing.T, native, secure bool, change func(*stream)) (url string, seen *tally) {
	seen = &tally{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked request
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &asked) != nil || !asked.Stream {
			http.Error(w, "what is this", http.StatusBadRequest)
			return
		}
		prompts := append(asked.Prompt, asked.InputIDs...)
		seen.add(len(prompts)) // before the bytes that let the client continue
		answer := good(prompts, native)
		if change != nil {
			change(answer)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, answer.text(native))
	}))
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.URL, seen
}

func TestEverySampleGetsItsOwnStream(t *testing.T) {
	for _, backend := range []string{"vllm", "sglang"} {
		for _, secure := range []bool{false, true} {
			for _, size := range []int{1, 2, 7, 64} {
				for _, n := range []int{0, 1, 6, 7, 13, 65} {
					url, seen := serveStreams(t, backend == "sglang", secure, nil)
					c, d := config(t, backend, url, size)
					c.Stream, c.InsecureSkipVerify = true, secure
					r := ask(t, c, d, n)
					for id, res := range r.Results {
						i := int32(id) - 1
						require.Equal(t, backends.OK, res.Reason)
						require.Equal(t, []int32{i, 7}, res.Tokens)
						require.Equal(t, fmt.Sprintf("t%dt7", i), string(res.Text))
						require.Equal(t, []int{2, 2, 2, 0}, []int{res.NTokens, res.InputTokens, res.Events, res.Merged})
						require.Equal(t, 1, res.FirstCalls)
						require.Equal(t, i, res.First[0], "its own first token")
						require.NotZero(t, res.FirstTokenNS)
						require.GreaterOrEqual(t, res.LastTokenNS, res.FirstTokenNS)
					}
					require.Equal(t, n, r.Gaps, "one gap a sample")
					total, largest := seen.read()
					require.Equal(t, n, total)
					require.LessOrEqual(t, largest, size)
				}
			}
		}
	}
}

// The times of a sample are those of its own tokens, not of its batch's.
func TestTimesAreTheSamplesOwn(t *testing.T) {
	for _, secure := range []bool{false, true} {
		first := make(chan struct{})
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			write := func(p wiretest.Piece) {
				io.WriteString(w, p.CompletionEvent())
				w.(http.Flusher).Flush()
			}
			write(wiretest.Piece{Index: 1, IDs: []int{1, 7}, Finish: "stop"})
			<-first // the client has received it
			write(wiretest.Piece{Index: 0, IDs: []int{0, 7}, Finish: "stop"})
		}))
		if secure {
			s.StartTLS()
		} else {
			s.Start()
		}
		c, d := config(t, "vllm", s.URL, 2)
		c.Stream, c.InsecureSkipVerify = true, secure
		b, err := d.Open(c)
		require.NoError(t, err)
		r := &opener{Recorder: wiretest.NewRecorder(), first: first}
		require.NoError(t, b.Serve(t.Context(), wiretest.NewQueries(2).End(), r))
		s.Close()
		r.ExactlyOnce(t, 2)
		early, late := r.Results[2], r.Results[1]
		require.Equal(t, backends.OK, early.Reason)
		require.Less(t, early.LastTokenNS, late.FirstTokenNS)
		require.Equal(t, []int{1, 1}, []int{early.Events, early.Merged}, "two tokens in one event")
		require.Equal(t, 2, r.Gaps, "the second token of an event came at once")
	}
}

// opener records the first token.
type opener struct {
	*wiretest.Recorder
	first chan struct{}
}

func (o *opener) FirstToken(q query, tokens []int32, atNS int64) {
	o.Recorder.FirstToken(q, tokens, atNS)
	if q.ID == 2 {
		close(o.first)
	}
}

func TestStreamFaults(t *testing.T) {
	completions := func(pieces ...wiretest.Piece) string {
		var choices []string
		for i := range pieces {
			choices = append(choices, pieces[i].Completion())
		}
		return `data: {"choices":[` + strings.Join(choices, ",") + "]}\n\n"
	}
	for _, c := range []struct {
		name   string
		native bool // whether to test SGLang's own route, too
		change func(*stream)
		want   backends.Reason
		failed int // of 3 samples
		text   string
	}{
		{"nothing", true, func(*stream) {}, backends.OK, 0, ""},
		{"a data: null event first", true, func(s *stream) { s.raw = "data: null\n\n" }, backends.OK, 0, ""},
		{"no count", false, func(s *stream) { s.count = -1 }, backends.OK, 0, ""},
		{"no [DONE]", true, func(s *stream) { s.done = false }, backends.OK, 0, ""},
		{"several choices in one event", false, func(s *stream) {
			s.raw, s.pieces = completions(s.pieces[3:]...),
				s.pieces[:3]
		}, backends.OK, 0, ""},
		{"one is missing", true, func(s *stream) { drop(s, 2) }, backends.FailBatch, 3, "has 2 parts and none with index 2"},
		{"the first is missing", true, func(s *stream) { drop(s, 0) }, backends.FailBatch, 3, "none with index 0"},
		{"all but one are missing", true, func(s *stream) { drop(s, 0); drop(s, 2) }, backends.FailBatch, 3,
			"none with index 0"},
		{"none", true, func(s *stream) { s.pieces = nil }, backends.FailBadEvent, 3, "the answer has no "},
		{"one too many", true, func(s *stream) { s.pieces[0].Index = 3 }, backends.FailBatch, 3,
			"at most 3 prompts has one with index 3"},
		{"an index below 0", true, func(s *stream) { s.pieces[1].Index = -1 }, backends.FailBatch, 3, "one with index -1"},
		{"an index far away", true, func(s *stream) { s.pieces[1].Index = 1 << 40 }, backends.FailBatch, 3,
			"one with index 1099511627776"},
		{"one twice", true, func(s *stream) { s.pieces = append(s.pieces, s.pieces[4]) }, backends.FailBatch, 3,
			"index 1 continues after its finish_reason"},
		{"one in the place of another", false, func(s *stream) { s.pieces[5].Index = 1 }, backends.FailBatch, 3,
			"index 1 continues after"},
		{"an end twice", false, func(s *stream) { s.pieces = append(s.pieces, wiretest.Piece{Index: 0, Finish: "stop"}) },
			backends.FailBatch, 3, "index 0 continues after"},
		{"one aborted", true, func(s *stream) { s.pieces[4].Finish = "abort" }, backends.FailAborted, 1, `"abort"`},
		{"one without an end", true, func(s *stream) { s.pieces[4].Finish = "" }, backends.FailTruncated, 1,
			"without a finish_reason"},
		{"one ends before its first token", false, func(s *stream) {
			s.pieces[4].IDs, s.pieces[1].IDs, s.count = nil, nil,
				4
		}, backends.FailEmpty, 1, "no output token"},
		{"the count differs", false, func(s *stream) { s.count = 7 }, backends.FailTokenCount, 3,
			"6 token ids, but usage.completion_tokens is 7"},
		{"an error event", true, func(s *stream) { s.raw = "data: {\"error\":{\"message\":\"engine died\"}}\n\n" },
			backends.FailServerErrorEvent, 3, "engine died"},
		{"an event that is no JSON", true, func(s *stream) { s.raw = "data: {oops\n\n" }, backends.FailBadJSON, 3, "oops"},
		{"an invalid id", true, func(s *stream) { s.pieces[4].IDs[0], s.count = -3, -1 }, backends.FailBadEvent, 1,
			"negative"},
	} {
		for _, backend := range []string{"vllm", "sglang"} {
			if backend == "sglang" && !c.native {
				continue
			}
			t.Run(c.name+" "+backend, func(t *testing.T) {
				url, _ := serveStreams(t, backend == "sglang", false, c.change)
				config, d := config(t, backend, url, 3)
				config.Stream = true
				r := ask(t, config, d, 3)
				requireFailed(t, r, c.want, c.failed, c.text)
			})
		}
	}
}

// drop removes the answer with an index from a stream.
func drop(s *stream, index int) {
	s.pieces = slices.DeleteFunc(s.pieces, func(p wiretest.Piece) bool { return p.Index == index })
	s.count -= 2
}

// A stream that is cut fails every sample of the batch, because the server has not sent its end. After [DONE] nothing
// is missing.
func TestACutStream(t *testing.T) {
	whole := good([][]int{{0}, {1}}, false).text(false)
	first := strings.Index(whole, "\n\n") + 2
	for body, want := range map[string]backends.Reason{whole[:first]: backends.FailTruncated, whole: backends.OK} {
		c, d := config(t, "vllm", wiretest.Raw(t, wiretest.Closes(wiretest.StreamHead+wiretest.Chunks(body))), 2)
		c.Stream = true
		for _, res := range ask(t, c, d, 2).Results {
			require.Equal(t, want, res.Reason)
		}
	}
	for name, script := range map[backends.Reason]wiretest.Script{
		backends.FailNoFirstToken: wiretest.Answers(wiretest.Whole(200, "application/json",
			completions([]part{{index: 0, finish: "stop"}, {index: 1, prompt: 1, finish: "stop"}}))),
		backends.FailEmpty: wiretest.Answers(wiretest.StreamHead + "0\r\n\r\n"),
	} {
		c, d := config(t, "vllm", wiretest.Raw(t, script), 2)
		c.Stream = true
		for _, res := range ask(t, c, d, 2).Results {
			require.Equal(t, name, res.Reason)
		}
	}
}
