package wiretest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// Read is the result of reading an answer to several prompts.
type Read struct {
	Reason backends.Reason
	Count  int
	Parts  []ReadPart
	News   map[int]int // reported tokens by part
}

// ReadPart is the result of one part.
type ReadPart struct {
	Index                  int
	Reason                 backends.Reason
	Tokens                 []int32
	Text, Finish           string
	NTokens, Events, Multi int
}

// ReadBatch feeds a body to a reader of batches, in pieces of the given length.
func ReadBatch(answer wire.Answer, contentType string, body []byte, length int) Read {
	answer.Begin(contentType)
	read := Read{News: map[int]int{}}
	for rest := body; len(rest) > 0 && !answer.Settled(); {
		piece := rest[:min(length, len(rest))]
		rest = rest[len(piece):]
		for n := 1; n > 0; {
			if n, piece = answer.Feed(piece); n == 0 {
				break
			}
			for _, news := range answer.News() {
				read.News[news.Part] += news.N
			}
		}
	}
	var o backends.Outcome
	answer.Finish(&o, backends.OK)
	read.Reason, read.Count = o.Reason, o.UsageTokens
	for _, p := range o.Parts {
		read.Parts = append(read.Parts, ReadPart{
			Index: p.Index, Reason: p.Reason, Tokens: append([]int32(nil), p.Tokens...), Text: string(bytes.Clone(p.Text)),
			Finish:  p.FinishReason,
			NTokens: p.NTokens, Events: p.Events, Multi: p.Merged,
		})
	}
	return read
}

// SameInPieces requires that a streamed batch has the same result in pieces of any length, and that each of its parts
// comes once and belongs to the batch.
func SameInPieces(t require.TestingT, answer wire.Answer, size int, body []byte) Read {
	whole := ReadBatch(answer, "text/event-stream", body, max(len(body), 1))
	for _, length := range []int{1, 7, 64} {
		require.Equal(t, whole, ReadBatch(answer, "text/event-stream", body, length), "in pieces of %d", length)
	}
	seen := map[int]bool{}
	for _, p := range whole.Parts {
		require.False(t, seen[p.Index] || p.Index < 0 || p.Index >= size, "part %d", p.Index)
		seen[p.Index] = true
	}
	return whole
}

// Piece is the content of one event of a streamed batch for one of its prompts.
type Piece struct {
	Index  int
	IDs    []int
	Finish string // empty: the answer continues
}

// Completion returns the piece as a choice of OpenAI's interface.
func (p *Piece) Completion() string {
	finish := "null"
	if p.Finish != "" {
		finish = fmt.Sprintf("%q", p.Finish)
	}
	return fmt.Sprintf(`{"index":%d,"text":%q,"logprobs":null,"finish_reason":%s,"token_ids":[%s]}`, p.Index, p.text(),
		finish, p.ids())
}

// CompletionEvent returns an event with that choice only.
func (p *Piece) CompletionEvent() string {
	return `data: {"id":"c","object":"text_completion","choices":[` + p.Completion() + "]}\n\n"
}

// NativeEvent returns the piece as an event of SGLang's native route. IDs must then be all ids so far.
func (p *Piece) NativeEvent() string {
	finish := "null"
	if p.Finish != "" {
		finish = fmt.Sprintf(`{"type":%q}`, p.Finish)
	}
	return fmt.Sprintf("data: {\"text\":%q,\"output_ids\":[%s],\"meta_info\":{\"id\":\"r\",\"finish_reason\":%s,"+
		"\"prompt_tokens\":2,\"completion_tokens\":%d},\"index\":%d}\n\n",
		p.text(), p.ids(), finish, len(p.IDs), p.Index)
}

func (p *Piece) ids() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(p.IDs), " ", ","), "[]")
}

func (p *Piece) text() string {
	text := ""
	for _, id := range p.IDs {
		text += fmt.Sprintf("t%d", id)
	}
	return text
}
