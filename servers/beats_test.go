package servers

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

func second(n float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(n * 1e9)) }

func TestBeatsOfATest(t *testing.T) {
	dir := t.TempDir()
	b, err := createBeats(atomicfile.Private, dir, 3)
	require.NoError(t, err)
	for _, at := range []float64{1, 2, 3, 4, 5, 6, 7} {
		var failed error
		if at == 4 || at == 5 {
			failed = errors.New("no answer\x1b[31m" + strings.Repeat("\x01", 10*longestBeat))
		}
		require.NoError(t, b.note(second(at-0.5), second(at), failed))
	}
	require.NoError(t, b.close())
	require.NoError(t, b.close(), "again does nothing")
	require.NoError(t, b.note(second(8), second(8), nil), "and neither does a heartbeat after it")
	for _, c := range []struct {
		from, to float64
		want     Beats
	}{
		{0, 10, Beats{7, 2, 3}},
		{1, 7, Beats{7, 2, 3}},
		{1.5, 5.5, Beats{4, 2, 2.5}}, // from 3 until the test's end
		{4.5, 6.5, Beats{2, 1, 1.5}}, // from the test's beginning until 6
		{2.25, 2.75, Beats{0, 0, 0.5}},
		{7, 11, Beats{1, 0, 4}},
	} {
		got, err := ReadBeats(dir, 3, second(c.from), second(c.to))
		require.NoError(t, err)
		require.Equal(t, c.want, *got, "%+v", c)
	}

	text, err := os.ReadFile(beatsPath(dir, 3))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(beatsPath(dir, 3), text[:len(text)-5], 0o644))
	got, err := ReadBeats(dir, 3, second(0), second(7))
	require.NoError(t, err)
	require.EqualValues(t, 6, got.Sent, "the last line is not whole")
	require.NoError(t, os.WriteFile(beatsPath(dir, 3), append([]byte("{}}\n"), text...), 0o644))
	_, err = ReadBeats(dir, 3, second(0), second(7))
	require.ErrorContains(t, err, "heartbeat-3.jsonl: line 1 is not a heartbeat")
	_, err = ReadBeats(dir, 4, second(0), second(7))
	require.ErrorIs(t, err, os.ErrNotExist)

	_, err = createBeats(atomicfile.Private, dir+"/none", 0)
	require.ErrorContains(t, err, "record the heartbeats of replica 0")
	b = &beatsFile{must(os.Open(beatsPath(dir, 3)))} // read-only
	require.ErrorContains(t, b.note(second(1), second(1), nil), "record a heartbeat")
	require.NoError(t, b.note(second(1), second(1), nil), "it is said once")
}

func must(f *os.File, err error) *os.File {
	if err != nil {
		panic(err)
	}
	return f
}

// Only the end of a file that exceeds the limit is read.
func TestBeatsOfALongTime(t *testing.T) {
	line := []byte(`{"at":"1970-01-01T00:16:41Z","took_ns":1}` + "\n")
	path := beatsPath(t.TempDir(), 0)
	require.NoError(t, os.WriteFile(path, bytes.Repeat(line, 100), 0o644))
	for most, want := range map[int]int{100: 100, 50: 49, 2: 1} {
		got, err := readBeats(path, int64(most*len(line)), second(0), second(2))
		require.NoError(t, err)
		require.EqualValues(t, want, got.Sent)
	}
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 3*longestBeat), 0o644))
	for _, most := range []int64{2 * longestBeat, 4 * longestBeat} {
		_, err := readBeats(path, most, second(0), second(2))
		require.ErrorIs(t, err, bufio.ErrBufferFull, "no line is as long as this one")
	}
}

func FuzzBeats(f *testing.F) {
	f.Add([]byte(`{"at":"1970-01-01T00:16:41Z","took_ns":1}` + "\n" +
		`{"at":"1970-01-01T00:16:42Z","took_ns":1,"error":"x"}` + "\n"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := countBeats(bufio.NewReaderSize(bytes.NewReader(text), longestBeat), second(0), second(10))
		if err != nil {
			require.Nil(t, b)
			return
		}
		require.LessOrEqual(t, b.Failed, b.Sent)
		require.LessOrEqual(t, b.Sent, int64(bytes.Count(text, []byte("\n"))))
		require.GreaterOrEqual(t, b.LongestGapS, 0.0)
		require.LessOrEqual(t, b.LongestGapS, 10.0)
	})
}
