package ledger

import (
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// BenchmarkQuery is the life of one sample of 128 tokens in events of one token: what one query costs.
func BenchmarkQuery(b *testing.B) {
	for _, tokens := range []int{1, 128} {
		b.Run(map[int]string{1: "no-tokens", 128: "128-tokens"}[tokens], func(b *testing.B) {
			const room = 1 << 20
			s := New(1, room).Shard(0)
			c := answer(tokens, 1, 2)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				seq := i % room
				if i > 0 && seq == 0 {
					b.StopTimer()
					s = New(1, room).Shard(0)
					b.StartTimer()
				}
				s.Issue(seq, 1, base)
				s.FirstToken(seq, base+1000)
				for range tokens - 1 {
					s.Gap(20000, 1)
				}
				s.Complete(seq, c)
			}
		})
	}
}

func BenchmarkHistogramRecord(b *testing.B) {
	var h Histogram
	b.ReportAllocs()
	v := int64(1)
	for b.Loop() {
		h.Record(v)
		v = (v*31 + 7) & (1<<30 - 1)
	}
}

func BenchmarkCompute(b *testing.B) {
	t := randomTest(FromSchedule)
	b.ReportAllocs()
	for b.Loop() {
		t.Metrics()
	}
}

func BenchmarkWriteRequests(b *testing.B) {
	t := randomTest(FromSchedule)
	path := filepath.Join(b.TempDir(), "requests.jsonl.zst")
	for b.Loop() {
		if err := WriteRequests(atomicfile.Private, path, t); err != nil {
			b.Fatal(err)
		}
	}
}
