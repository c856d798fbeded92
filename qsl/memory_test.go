package qsl

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/race"
	"github.com/mlperf-go/mlperf-go/models"
)

// The size of the summarization benchmark's data set, and the memory limit with all requests built.
const (
	fullRows      = 13368
	fullMemoryKiB = 400 << 10
)

// TestFullSetMemory loads a set of the benchmark's size in a process of its own and asserts that process's peak memory.
func TestFullSetMemory(t *testing.T) {
	const child = "MLPERF_GO_TEST_FULL_SET"
	if path := os.Getenv(child); path != "" {
		loadFullSet(t, path)
		return
	}
	if testing.Short() || race.Enabled {
		t.Skip("writes a file of 130 MB and measures memory, which the race detector multiplies")
	}
	path := filepath.Join(t.TempDir(), "full.json")
	writeFullSet(t, path)
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFullSetMemory$", "-test.v")
	cmd.Env = append(os.Environ(), child+"="+path)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Log(string(out))
	_, after, found := strings.Cut(string(out), "peak KiB: ")
	require.True(t, found, string(out))
	peak, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(t, err)
	require.Less(t, peak, fullMemoryKiB)
}

func loadFullSet(t *testing.T, path string) {
	begin := time.Now()
	d, err := datasets.Open(path, datasets.Options{Schema: "full", Vocabulary: 128256, KeepTarget: true,
		Columns: []models.Column{
			{Name: "input", Type: "text", Role: "input"}, {Name: "tok_input", Type: "ids", Required: true, Role: "input_ids"},
			{Name: "output", Type: "text", Role: "target"}}})
	require.NoError(t, err)
	require.Len(t, d.Samples, fullRows)
	read := time.Since(begin)
	l := library(t, Options{Dataset: d, Encode: func(dst []byte, s *datasets.Sample) ([]byte, error) {
		dst = append(dst, "POST /v1/completions HTTP/1.1\r\nHost: server\r\nContent-Type: "+
			"application/json\r\n\r\n{\"prompt\": ["...)
		for _, id := range s.InputIDs {
			dst = append(strconv.AppendInt(dst, int64(id), 10), ',')
		}
		return append(dst, "0]}"...), nil
	}})
	require.NoError(t, l.Load(sequence(0, fullRows)))
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Printf("read in %v, loaded in %v, request bytes: %d MB, peak KiB: %s\n", read, time.Since(begin), l.Bytes()/1e6,
		strings.Fields(after)[0])
	require.NotEmpty(t, l.Request(fullRows-1))
	require.NotEmpty(t, d.Samples[0].Target)
}

// writeFullSet writes records of 900 ids and 4 KB of text.
func writeFullSet(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	w := bufio.NewWriterSize(f, 1<<20)
	text := strings.Repeat(`A line of it. `, 4096/14) + `\n`
	before := "["
	for i := range fullRows {
		fmt.Fprintf(w, "%s{\"input\": \"%s\", \"tok_input\": [128000", before, text)
		before = ",\n"
		var ids []byte
		for k := range 899 {
			ids = strconv.AppendInt(append(ids, ", "...), int64((i*31+k*977)%128000), 10)
		}
		w.Write(ids)
		fmt.Fprintf(w, "], \"output\": \"%s\"}", text[:300])
	}
	w.WriteString("]\n")
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
}
