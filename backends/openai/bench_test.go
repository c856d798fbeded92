package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// BenchmarkStream compares the reader of answers with bufio.Scanner and encoding/json on 128 events of one token each,
// in processor time.
func BenchmarkStream(b *testing.B) {
	const events = 128
	var stream []byte
	for range events {
		stream = append(append(append(stream, "data: "...), vllmEvent...), "\n\n"...)
	}
	b.Run("scanner", func(b *testing.B) {
		defer perToken(b, events, wiretest.ProcessorTime())
		a := newAnswer(&vllm, &backends.Config{RequestOptions: backends.RequestOptions{Stream: true},
			AnswerOptions: backends.AnswerOptions{NeedIDs: true}})
		b.ReportAllocs()
		for b.Loop() {
			a.Begin("text/event-stream")
			for p := stream; len(p) > 0; {
				_, p = a.Feed(p)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		defer perToken(b, events, wiretest.ProcessorTime())
		var tokens []int32
		for b.Loop() {
			tokens = tokens[:0]
			for lines := bufio.NewScanner(bytes.NewReader(stream)); lines.Scan(); {
				data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
				if !ok {
					continue
				}
				var v struct {
					Choices []struct {
						Text         string  `json:"text"`
						TokenIDs     []int32 `json:"token_ids"`
						FinishReason *string `json:"finish_reason"`
					} `json:"choices"`
				}
				if err := json.Unmarshal(data, &v); err != nil {
					b.Fatal(err)
				}
				for _, c := range v.Choices {
					tokens = append(tokens, c.TokenIDs...)
				}
			}
		}
	})
}

// perToken reports the processor time per token.
func perToken(b *testing.B, tokens int, since time.Duration) {
	b.ReportMetric(float64((wiretest.ProcessorTime()-since).Nanoseconds())/float64(b.N)/float64(tokens), "ns/token")
}

// BenchmarkBatchStream reads a stream with the answers to 4 prompts, one token per event. Its events differ in their
// index, so that their shape is not learned.
func BenchmarkBatchStream(b *testing.B) {
	var stream []byte
	for i := range 128 {
		event := strings.Replace(vllmEvent, `"index":0`, fmt.Sprintf(`"index":%d`, i%4), 1)
		stream = append(append(append(stream, "data: "...), event...), "\n\n"...)
	}
	a := newAnswer(&vllm, &backends.Config{RequestOptions: backends.RequestOptions{Stream: true, Batch: 4},
		AnswerOptions: backends.AnswerOptions{NeedIDs: true}})
	b.ReportAllocs()
	for b.Loop() {
		a.Begin("text/event-stream")
		for p := stream; len(p) > 0; {
			_, p = a.Feed(p)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/128, "ns/token")
}

// BenchmarkWhole reads an answer of 16 tokens that is not streamed.
func BenchmarkWhole(b *testing.B) {
	const body = `{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"word word word word word word word word","logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}],"usage":{"prompt_tokens":200,"total_tokens":216,"completion_tokens":16,"prompt_tokens_details":null}}`
	whole := []byte(body)
	a := newAnswer(&vllm, &backends.Config{AnswerOptions: backends.AnswerOptions{NeedIDs: true}})
	var o backends.Outcome
	b.ReportAllocs()
	for b.Loop() {
		a.Begin("application/json")
		a.Feed(whole)
		if a.Finish(&o, backends.OK); o.NTokens != 16 {
			b.Fatal(o)
		}
	}
}
