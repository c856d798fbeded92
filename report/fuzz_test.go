package report

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Read and WriteHTML panic on no folder, and note unreadable parts.
func FuzzRead(f *testing.F) {
	folder := folderOf(f, 200)
	text := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		require.NoError(f, err)
		return b
	}
	rec, failed, metrics := text(record.FileName), text(record.FailuresName), text(record.MetricsName)
	request := []byte(`{"seq":0,"index":1,"scheduled":0,"issued":1,"done":5}`)
	f.Add(rec, failed, metrics, request)
	f.Add(bytes.Replace(rec, []byte(record.Schema), []byte("mlperf-go/run/2"), 1), failed, metrics, request)
	f.Add([]byte(`{"schema":"mlperf-go/run/1","tails":[{}],"server_metrics":{},"samples":{"failed":1}}`),
		[]byte("{}\n{"), metrics[:20], []byte("{}"))
	f.Add([]byte(`{"schema":"mlperf-go/run/1","tails":[{"what":"time to first token","limit_ns":-1}],"started":null}`),
		[]byte(`{"at_s":-1e300}`), []byte{}, []byte(`{"seq":-1,"issued":9223372036854775807,"done":-9223372036854775808}`))
	f.Fuzz(func(t *testing.T, rec, failed, metrics, requests []byte) {
		folder := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(folder, record.MetricsFolder), 0o700))
		for name, text := range map[string][]byte{record.FileName: rec, record.FailuresName: failed,
			record.MetricsName: metrics} {
			require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), text, 0o600))
		}
		lines, err := atomicfile.Shared.CreateLines(filepath.Join(folder, record.RequestsName))
		require.NoError(t, err)
		for line := range bytes.Lines(requests) {
			require.NoError(t, lines.AppendRaw(bytes.TrimRight(line, "\n")))
		}
		require.NoError(t, lines.Close())
		r, err := Read(folder)
		if err != nil {
			require.Nil(t, r)
			return
		}
		require.Contains(t, r.Notes, "the folder has no configuration")
		var page bytes.Buffer
		require.NoError(t, WriteHTML(&page, []*Run{r}))
		require.NotEmpty(t, page.Bytes())
	})
}

// A folder of another version is rejected, and the error contains both versions.
func TestFolderOfAnotherVersion(t *testing.T) {
	for _, schema := range []string{"mlperf-go/run/0", "mlperf-go/run/2", ""} {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, record.FileName), []byte(`{"schema":"`+schema+`"}`), 0o600))
		_, err := Read(folder)
		require.ErrorContains(t, err, `has the schema "`+schema+`"; this program reads "mlperf-go/run/1"`)
	}
}
