package tokenizer

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The benchmarks use the tokenizer.json that MLPERF_GO_TOKENIZER names, or else a small generated one.

func benchTokenizer(b *testing.B) *Tokenizer {
	b.Helper()
	if path := os.Getenv("MLPERF_GO_TOKENIZER"); path != "" {
		tok, err := Open(path)
		require.NoError(b, err)
		return tok
	}
	tok, err := Parse(spelled(b), nil)
	require.NoError(b, err)
	return tok
}

// proseText returns about 60 kB of English prose and source code.
func proseText() string {
	return strings.Repeat("The surveyor's notes, taken in the harbour before 7:45, describe twenty-three lighthouses; "+
		"none of them had been repainted "+
		"since 1987. \"We'll return,\" she wrote, unbelievably cheerful.\n\nfunc (k *keeper) light(lamp int) error "+
		"{\n\treturn k.switches[lamp%len(k.switches)].on()\n}\n", 200)
}

func BenchmarkEncode(b *testing.B) {
	tok, text := benchTokenizer(b), proseText()
	var ids []int32
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	begun := cpu()
	for b.Loop() {
		ids = tok.AppendIDs(ids[:0], text, false)
	}
	perSecond(b, len(ids), begun)
}

// BenchmarkEncodeOnePiece measures the worst case: nothing splits the text, so all of it is one piece.
func BenchmarkEncodeOnePiece(b *testing.B) {
	for _, length := range []int{1 << 10, 1 << 20} {
		b.Run(strconv.Itoa(length), func(b *testing.B) {
			tok, text := parsed(b, sentencePiece(b, nil), nil), strings.Repeat("helothe", length/7)
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tok.Encode(text, false)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	tok := benchTokenizer(b)
	ids := tok.Encode(proseText(), false)
	b.ReportAllocs()
	begun := cpu()
	for b.Loop() {
		_ = tok.Decode(ids, true)
	}
	perSecond(b, len(ids), begun)
}

func BenchmarkStream(b *testing.B) {
	tok := benchTokenizer(b)
	ids := tok.Encode(proseText(), false)
	b.ReportAllocs()
	begun := cpu()
	for b.Loop() {
		s := tok.NewStream(true)
		for _, id := range ids {
			_ = s.Next(id)
		}
		_ = s.Flush()
	}
	perSecond(b, len(ids), begun)
}

func BenchmarkParse(b *testing.B) {
	file := spelled(b)
	if path := os.Getenv("MLPERF_GO_TOKENIZER"); path != "" {
		var err error
		file, err = os.ReadFile(path)
		require.NoError(b, err)
	}
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := Parse(file, nil)
		require.NoError(b, err)
	}
}

// cpu returns the processor time of this process in seconds. Other load on the machine does not increase it.
func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func perSecond(b *testing.B, ids int, begun float64) {
	tokens := float64(ids) * float64(b.N) / 1e6
	b.ReportMetric(tokens/b.Elapsed().Seconds(), "Mtokens/s")
	b.ReportMetric(tokens/(cpu()-begun), "Mtokens/CPU-s")
}
