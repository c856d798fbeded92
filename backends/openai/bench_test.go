package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mlperf-go/mlperf-go/backends"
)

// BenchmarkStream reads 128 events of one token each from their bytes: frames, fields and counts here, bufio.Scanner and
// encoding/json there.
func BenchmarkStream(b *testing.B) {
	const events = 128
	var stream []byte
	for range events {
		stream = append(append(append(stream, "data: "...), vllmEvent...), "\n\n"...)
	}
	perToken := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/token")
	}
	b.Run("scanner", func(b *testing.B) {
		a := newAnswer(&vllm, &backends.Config{Stream: true, NeedIDs: true})
		b.ReportAllocs()
		for b.Loop() {
			a.Begin("text/event-stream")
			for p := stream; len(p) > 0; {
				_, p = a.Feed(p)
			}
		}
		perToken(b)
	})
	b.Run("encoding-json", func(b *testing.B) {
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
		perToken(b)
	})
}
