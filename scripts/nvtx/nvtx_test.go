//go:build nvtx

package nvtx

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// Built and installed by scripts/test-nvtx.sh: the program with and without the tag, the recorder, and the folders of
// NVTX's library of version 2 and 3.
var (
	program   = os.Getenv("NVTX_TEST_PROGRAM")
	plain     = os.Getenv("NVTX_TEST_PLAIN")
	recorder  = os.Getenv("NVTX_TEST_RECORDER")
	libraries = filepath.SplitList(os.Getenv("NVTX_TEST_LIBRARIES"))
)

func TestMain(m *testing.M) {
	if program == "" || plain == "" || recorder == "" || len(libraries) == 0 {
		fmt.Println("NVTX_TEST_PROGRAM and its like are not set; use `make test-nvtx`")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// The ranges of a sample with and without a streamed answer.
var (
	streamed = []string{"issue", "send", "first token", "stream", "complete"}
	whole    = []string{"issue", "send", "answer", "complete"}
)

// Each sample has its ranges in order. Each begins where the previous one ended, between the ledger's stamps of the
// same sample. All of them have ended, and the flush has too.
func TestEachSampleHasItsRanges(t *testing.T) {
	url, dataset := simulator(t)
	for _, c := range []struct {
		name, library string
		want          []string
		args          []string
	}{
		{"Server, NVTX 2", libraries[0], streamed, []string{"--scenario", "Server", "--target-qps", "100"}},
		{"Server, NVTX 3", libraries[1], streamed, []string{"--scenario", "Server", "--target-qps", "100"}},
		{"Offline", libraries[1], whole, []string{"--scenario", "Offline"}},
		{"batches of 7", libraries[1], whole, []string{"--scenario", "Offline", "--offline-strategy", "batch",
			"--batch-size", "7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			folder, record := filepath.Join(dir, "run"), filepath.Join(dir, "record")
			out, code := run(t, []string{"LD_LIBRARY_PATH=" + c.library, "NVTX_INJECTION64_PATH=" + recorder,
				"NVTX_TEST_RECORD=" + record}, program, append([]string{"run", "--model", "generic", "--endpoint", url,
				"--served-model", "sim-model", "--dataset", dataset, "--min-duration", "0s", "--min-queries", "100",
				"--ttft-limit", "5s", "--tpot-limit", "1s", "--output-dir", folder, "--no-progress"}, c.args...)...)
			require.LessOrEqual(t, code, 1, out) // 1: the verdict, because the test is short or the machine busy
			text, err := os.ReadFile(filepath.Join(folder, "run.json"))
			require.NoError(t, err)
			schematest.Records(t, dir)
			require.Contains(t, string(text), "profiled: the client marks ranges for NVTX (build tag nvtx)")

			r := read(t, record)
			require.Equal(t, []string{"mlperf-go"}, r.domains)
			require.Equal(t, map[string]string{"1": "issue", "2": "send", "3": "first token", "4": "stream", "5": "answer",
				"6": "complete", "7": "flush"}, r.categories)
			samples := requests(t, folder)
			require.GreaterOrEqual(t, len(samples), 100)
			require.Len(t, r.flush, 1)
			require.NotZero(t, r.flush[0].end)
			require.Len(t, r.samples, len(samples))
			for _, s := range samples {
				checkSample(t, c.want, r.samples[s.Seq], r.begun, s)
				require.LessOrEqual(t, r.samples[s.Seq][0].start, r.flush[0].start, "issued after the flush")
				require.LessOrEqual(t, r.samples[s.Seq][len(c.want)-1].end, r.flush[0].end, "ended after the flush")
			}
		})
	}
}

// slack is how much later than the ledger's stamp a range may begin: the machine may be busy.
const slack = int64(100 * time.Millisecond)

// checkSample checks the ranges of one sample. begun is the first range of the test.
func checkSample(t *testing.T, want []string, ranges []marked, begun int64, s sample) {
	t.Helper()
	require.Len(t, ranges, len(want), "sample %d: %v", s.Seq, ranges)
	for i, r := range ranges {
		require.Equal(t, fmt.Sprintf("%s %d", want[i], s.Seq), r.message)
		require.Equal(t, want[i], r.category)
		require.LessOrEqual(t, r.start, r.end, "sample %d: %v", s.Seq, ranges)
		if i > 0 {
			require.LessOrEqual(t, ranges[i-1].end, r.start, "sample %d: %v", s.Seq, ranges)
		}
	}
	require.InDelta(t, s.Issued, ranges[0].start-begun, float64(slack))
	require.InDelta(t, s.Sent, ranges[2].start-begun, float64(slack))
	require.InDelta(t, s.Done, ranges[len(ranges)-1].start-begun, float64(slack))
}

// Without a tool the library does nothing, and the run is unaffected.
func TestWithoutATool(t *testing.T) {
	url, dataset := simulator(t)
	out, code := run(t, []string{"LD_LIBRARY_PATH=" + libraries[1]}, program, "run", "--model", "generic", "--endpoint",
		url, "--served-model", "sim-model", "--dataset", dataset, "--scenario", "Offline", "--min-duration", "0s",
		"--min-queries", "20", "--output-dir", filepath.Join(t.TempDir(), "run"), "--no-progress")
	require.LessOrEqual(t, code, 1, out)
}

// Without the library a run is rejected before any request.
func TestWithoutTheLibrary(t *testing.T) {
	out, code := run(t, nil, program, "run", "--model", "generic", "--scenario", "Offline", "--output-dir",
		filepath.Join(t.TempDir(), "run"), "--no-progress")
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "NVTX's library cannot be loaded: libnvtx3interop.so.1:")
	require.Contains(t, out, "pip install nvidia-nvtx-cu12")
}

// The program that users get contains no part of it.
func TestWithoutTheTag(t *testing.T) {
	for path, want := range map[string]bool{program: true, plain: false} {
		out, err := exec.Command("go", "tool", "nm", path).Output()
		require.NoError(t, err)
		for _, symbol := range []string{"nvtx_next", "nvtx_issue", "lg_on_issue", "internal/nvtx."} {
			require.Equal(t, want, strings.Contains(string(out), symbol), "%s in %s", symbol, path)
		}
	}
}

// run runs a program to its end, and returns what it printed and its exit code.
func run(t *testing.T, env []string, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// simulator starts a simulator with a data set, and ends it with the test.
func simulator(t *testing.T) (url, dataset string) {
	t.Helper()
	dataset = filepath.Join(t.TempDir(), "data.json")
	out, code := run(t, nil, plain, "dataset", "synth", "--model", "generic", "--samples", "64", "--output", dataset)
	require.Zero(t, code, out)
	return simtest.Start(t, plain, "--benchmark", "generic", "--dataset", dataset, "--model", "sim-model", "--ttft", "5ms",
		"--tpot", "1ms"), dataset
}

// sample is one line of requests.jsonl.zst.
type sample struct {
	Seq    int   `json:"seq"`
	Issued int64 `json:"issued"` // the times in ns after the first issue
	Sent   int64 `json:"sent"`
	Done   int64 `json:"done"`
}

func requests(t *testing.T, folder string) (list []sample) {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, "requests.jsonl.zst"))
	require.NoError(t, err)
	defer f.Close()
	z, err := zstd.NewReader(f)
	require.NoError(t, err)
	defer z.Close()
	for in := bufio.NewScanner(z); in.Scan(); {
		var s sample
		require.NoError(t, json.Unmarshal(in.Bytes(), &s))
		list = append(list, s)
	}
	return list
}

// recorded is what the recorder has written.
type recorded struct {
	domains    []string
	categories map[string]string
	samples    map[int][]marked // by number, in the order of their begin
	flush      []marked
	begun      int64 // of the first range
}

// marked is one range. Its times are ns since 1970; 0: it has not ended.
type marked struct {
	category, message string
	seq               int
	start, end        int64
}

func read(t *testing.T, path string) *recorded {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r := &recorded{categories: map[string]string{}, samples: map[int][]marked{}}
	open := map[uint64]*marked{}
	var order []*marked
	for in := bufio.NewScanner(f); in.Scan(); {
		what, rest, _ := strings.Cut(in.Text(), " ")
		number, text, _ := strings.Cut(rest, " ")
		switch what {
		case "domain":
			r.domains = append(r.domains, text)
		case "category":
			r.categories[number] = text
		case "start":
			id, m := uint64(0), &marked{}
			var category string
			_, err := fmt.Sscan(rest, &id, &m.start, &category, &m.seq)
			require.NoError(t, err, in.Text())
			m.category = r.categories[category]
			m.message = strings.SplitN(rest, " ", 5)[4]
			require.NotContains(t, open, id)
			open[id], order = m, append(order, m)
		case "end":
			id, at := uint64(0), int64(0)
			_, err := fmt.Sscan(rest, &id, &at)
			require.NoError(t, err, in.Text())
			require.Contains(t, open, id, "ended twice, or never begun")
			open[id].end = at
			delete(open, id)
		}
	}
	require.Empty(t, open, "never ended")
	require.NotEmpty(t, order)
	r.begun = order[0].start
	for _, m := range order {
		if m.category == "flush" {
			r.flush = append(r.flush, *m)
		} else {
			r.samples[m.seq] = append(r.samples[m.seq], *m)
		}
	}
	return r
}
