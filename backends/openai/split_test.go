package openai

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// reported is everything that an answer has reported by its end.
type reported struct {
	Counts []int // new tokens, event by event
	Reason backends.Reason
	Detail string
	Tokens []int32
	Text   string
	Usage  int
	Finish string
}

// readPieces reads an answer in pieces.
func readPieces(c *backends.Config, pieces [][]byte) (all reported) {
	a := newAnswer(&vllm, c)
	a.Begin("text/event-stream")
	for _, p := range pieces {
		for n := 1; n > 0; {
			if n, p = a.Feed(p); n > 0 {
				all.Counts = append(all.Counts, n)
			}
		}
	}
	var o backends.Outcome
	all.Detail = a.Finish(&o, backends.OK)
	all.Reason, all.Tokens, all.Text, all.Usage, all.Finish = o.Reason, o.Tokens, string(o.Text), o.UsageTokens,
		o.FinishReason
	return all
}

// split cuts b at the given positions.
func split(b []byte, step func() int) (pieces [][]byte) {
	for len(b) > 0 {
		n := min(max(1, step()), len(b))
		pieces, b = append(pieces, b[:n]), b[n:]
	}
	return pieces
}

// drawEvent draws one event of a stream: mostly an ordinary one, sometimes any other.
func drawEvent(t *rapid.T, form string) string {
	text := rapid.SampledFrom([]string{"", "a", " word", "né", `\n`, `\"`, `\u00e9`,
		"a much longer piece of text, of several words", "\x01"}).Draw(t, "text")
	ids := rapid.SampledFrom([]string{"[7]", "[7]", "[1,22,333]", "[]", "[ 5 ]", "[5,\n6]", "[1234567890]", "[-1]", "[01]",
		"null"}).Draw(t, "ids")
	doc := strings.NewReplacer("TEXT", text, "IDS", ids).Replace(form)
	switch rapid.IntRange(0, 15).Draw(t, "kind") {
	case 0:
		return ": a comment\n\n"
	case 1:
		return "data: " + strings.Replace(doc, `"finish_reason":null`, `"finish_reason":"stop"`, 1) + "\n\n"
	case 2:
		return "data:" + doc + "\n\n"
	case 3:
		return "data: " + doc + "\r\n\r\n"
	case 4:
		return "data: " + doc + "\n"
	case 5:
		return "data: " + strings.Replace(doc, ",", ",\ndata: ", 1) + "\n\n"
	case 6:
		return "data: [DONE]\n\n"
	case 7:
		return `data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":3}}` + "\n\n"
	case 8:
		return "data: " + strings.Replace(doc, `"index":0`, `"index":0,"prompt_token_ids":[1,2]`, 1) + "\n\n"
	}
	return "data: " + doc + "\n\n"
}

// TestSplitsDoNotChangeAnAnswer reads streams in one piece, in pieces of any length and byte by byte. In the last case
// no event is ever complete in one piece, so that Repeat never succeeds.
func TestSplitsDoNotChangeAnAnswer(t *testing.T) {
	forms := []string{
		`{"id":"cmpl-1","choices":[{"index":0,"text":"TEXT","logprobs":null,"finish_reason":null,"token_ids":IDS}]}`,
		`{"id":"cmpl-1","choices":[{"index":0,"delta":{"reasoning_content":null,"content":"TEXT"},"finish_reason":null}],"usage":null}`,
		`{"choices":[{"index":0,"token_ids":IDS,"text":"TEXT","finish_reason":null}]}`,
	}
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom(forms).Draw(t, "form")
		var stream []byte
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			stream = append(stream, drawEvent(t, form)...)
		}
		c := &backends.Config{
			RequestOptions: backends.RequestOptions{Stream: true},
			AnswerOptions: backends.AnswerOptions{KeepText: rapid.Bool().Draw(t, "text"), NeedIDs: rapid.Bool().Draw(t, "ids"),
				Vocabulary: 1000},
		}
		want := readPieces(c, split(stream, func() int { return 1 }))
		for name, step := range map[string]func() int{
			"whole":  func() int { return len(stream) },
			"pieces": func() int { return rapid.IntRange(1, 120).Draw(t, "piece") },
			"events": func() int { return len(form) + len("data: []\n\n") },
		} {
			require.Equal(t, want, readPieces(c, split(stream, step)), "%s: %q", name, stream)
		}
	})
}

// TestOrdinaryEventsHaveALearnedShape counts the events that need no walk. A first event with more members than the
// others, as vLLM sends it, must not prevent that.
func TestOrdinaryEventsHaveALearnedShape(t *testing.T) {
	for name, events := range map[string][2]string{
		"prompt ids in the first": {strings.Replace(vllmEvent, `"prompt_token_ids":null`, `"prompt_token_ids":[1,2,3]`, 1),
			vllmEvent},
		"a role in the first": {`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
			`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}`},
	} {
		w := newWalker(false)
		var e reader.Event
		require.NoError(t, w.Decode([]byte(events[0]), &e))
		framed := []byte("data: " + events[1] + "\n\n")
		if w.Repeat(framed, &e) == 0 {
			require.NoError(t, w.Decode([]byte(events[1]), &e))
		}
		require.Equal(t, len(framed), w.Repeat(framed, &e), name)
		require.Zero(t, w.Repeat(framed[:len(framed)-1], &e), "%s: its end has not come", name)
		w.Forget()
		require.Zero(t, w.Repeat(framed, &e), "%s: another answer", name)
	}
}
