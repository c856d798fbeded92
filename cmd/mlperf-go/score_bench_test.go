package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
)

// wholeSet is the number of answers of the largest data set that is scored by ROUGE. sideTokens is the length of an
// answer and of its reference.
const (
	wholeSet   = 24576
	sideTokens = 300
)

// BenchmarkAccuracyCommand scores a whole log of llama2-70b's size with the command, including files and decoding. It
// reports seconds, cores used, CPU seconds and the largest resident size of the process.
func BenchmarkAccuracyCommand(b *testing.B) {
	dir := b.TempDir()
	log, set := writeWholeSet(b, dir)
	var cpu, rss float64
	for b.Loop() {
		cmd := exec.Command("mlperf-go", "accuracy", "--log", log, "--dataset", set, "--model", "llama2-70b-99",
			"--output-dir", dir)
		var progress strings.Builder
		cmd.Stderr = &progress
		out, err := cmd.Output()
		require.Equal(b, 1, cmd.ProcessState.ExitCode(), "half of each answer is wrong: %s%s%v", out, progress.String(), err)
		require.Contains(b, string(out), "24576 of 24576 samples, 0 missing")
		cpu += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
		rss = max(rss, float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "wall-s/set")
	b.ReportMetric(cpu/float64(b.N), "cpu-s/set")
	b.ReportMetric(rss, "MiB")
	b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "cores")
}

// writeWholeSet writes a data set and the accuracy log of a run on it.
func writeWholeSet(b *testing.B, dir string) (log, set string) {
	log, set = filepath.Join(dir, mllog.AccuracyName), filepath.Join(dir, "set.json")
	rnd := rand.New(rand.NewPCG(1, 2))
	vocabulary := datasets.SynthVocabulary()
	inFile := func(path string, fill func(w *bufio.Writer)) {
		f, err := os.Create(path)
		require.NoError(b, err)
		w := bufio.NewWriterSize(f, 1<<20)
		fill(w)
		require.NoError(b, w.Flush())
		require.NoError(b, f.Close())
	}
	inFile(set, func(rows *bufio.Writer) {
		inFile(log, func(answers *bufio.Writer) {
			for i := range wholeSet {
				between := map[bool]string{true: "[\n", false: ",\n"}[i == 0]
				prompt := append([]int32{1}, vocabulary.Encode(newProse(rnd).text())...)
				reference := newProse(rnd)
				row, err := json.Marshal(map[string]any{"id": fmt.Sprint(i), "tok_input": prompt, "output": reference.text()})
				require.NoError(b, err)
				fmt.Fprintf(rows, "%s%s", between, row)
				var data []byte
				for _, id := range vocabulary.Encode(reference.retold(rnd).text()) {
					data = append(data, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
				}
				fmt.Fprintf(answers, `%s{"seq_id" : %d, "qsl_idx" : %d, "data" : "%s", "token_count" : %d}`, between, i, i,
					strings.ToUpper(hex.EncodeToString(data)), len(data)/4)
			}
			answers.WriteString("\n]\n")
		})
		rows.WriteString("\n]\n")
	})
	return log, set
}

// prose returns sentences that have sideTokens tokens as text: words of the synthetic vocabulary, one in sixteen with
// an ending that is not in the vocabulary.
type prose [][]string

func newProse(rnd *rand.Rand) prose {
	var p prose
	for tokens := 0; tokens < sideTokens; {
		var line []string
		for range 12 + rnd.IntN(10) {
			text, length := newWord(rnd)
			line = append(line, text)
			if tokens += length; tokens >= sideTokens-2 {
				break
			}
		}
		tokens += 2 // a full stop and a blank
		p = append(p, line)
	}
	return p
}

func newWord(rnd *rand.Rand) (text string, tokens int) {
	// Low numbers are more frequent, like frequent words.
	text = strings.TrimSpace(datasets.SynthVocabulary().Decode([]int32{1000 +
		int32(rnd.IntN(1+rnd.IntN(datasets.SynthWords)))}))
	if ending := []string{"ization", "ing", "ed", "fulness", "s"}[rnd.IntN(5)]; rnd.IntN(16) == 0 {
		return text + ending, 2 + len(text) + len(ending)
	}
	return text, 1
}

func (p prose) text() string {
	var lines []string
	for _, words := range p {
		lines = append(lines, strings.ToUpper(words[0][:1])+words[0][1:]+" "+strings.Join(words[1:], " ")+".")
	}
	return strings.Join(lines, " ")
}

// retold returns a text with its sentences in another order and half of its words replaced.
func (p prose) retold(rnd *rand.Rand) prose {
	out := make(prose, len(p))
	for to, from := range rnd.Perm(len(p)) {
		out[to] = append([]string{}, p[from]...)
		for i := range out[to] {
			if rnd.IntN(2) == 0 {
				out[to][i], _ = newWord(rnd)
			}
		}
	}
	return out
}
