package ledger

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// BenchmarkQuery measures the ledger's cost of one query: a sample of 128 tokens that arrive one per event.
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

// measured returns a test of n streamed samples with plausible times.
func measured(n int) *Test {
	r := rand.New(rand.NewPCG(1, 2))
	t := &Test{Origin: FromSchedule, T0NS: base, Names: New(1, 1).Names()}
	at := base
	for i := range n {
		at += int64(r.ExpFloat64() * 10e3)
		first := at + 20e6 + int64(r.ExpFloat64()*30e6)
		last := first + 500e6 + int64(r.ExpFloat64()*100e6)
		t.Schedule = append(t.Schedule, at-base)
		t.Entries = append(t.Entries, Entry{Seq: int32(i), Index: int32(i % 1000), IssuedNS: at + r.Int64N(2000),
			DequeuedNS: at + 3000 + r.Int64N(2000), SentNS: at + 6000 + r.Int64N(3000), FirstByteNS: first - r.Int64N(1000),
			FirstTokenNS: first, LastTokenNS: last, ReadableNS: last - r.Int64N(9000), DoneNS: last + r.Int64N(9000),
			InputTokens: 200, OutputTokens: 128, Events: 128})
	}
	return t
}

// BenchmarkAfterTheTest measures the cost per sample after the last answer: its metrics, its line in the requests file,
// and both concurrently, as in a run.
func BenchmarkAfterTheTest(b *testing.B) {
	const samples = 1 << 18
	t := measured(samples)
	path := filepath.Join(b.TempDir(), "r.jsonl.zst")
	metrics, stages := func() { t.Metrics() }, func() { t.Stages() }
	requests := func() {
		if err := WriteRequests(atomicfile.Shared, path, t); err != nil {
			b.Error(err)
		}
	}
	for name, do := range map[string]func(){
		"metrics": metrics, "stages": stages, "requests": requests,
		"all": func() {
			var written sync.WaitGroup
			written.Go(requests)
			metrics()
			stages()
			t.LagHistograms()
			written.Wait()
		},
	} {
		b.Run(name, func(b *testing.B) {
			before := processorTime(b)
			for b.Loop() {
				do()
			}
			each := float64(b.N) * samples
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/each, "ns/sample")
			b.ReportMetric(float64(processorTime(b)-before)/each, "ns/sample-on-cpu")
		})
	}
}

func processorTime(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
