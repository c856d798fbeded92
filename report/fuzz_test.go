package report

import (
	"bytes"
	"crypto/rand"
	"html/template"
	"os"
	"path/filepath"
	"strings"
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

// Of a folder without a record, any settings and logs are shown without a panic.
func FuzzReadCrashed(f *testing.F) {
	request := []byte(`{"seq":0,"index":1,"scheduled":0,"issued":1,"done":5,"endpoint":-3}`)
	f.Add([]byte("model: m\nscenario: Server\nmode: accuracy\nendpoint: [x]\n"), request, []byte(":::MLLOG {}"))
	f.Add([]byte("endpoint: 7"),
		[]byte(`{"seq":0,"scheduled":0,"issued":1,"done":5,"endpoint":32767,"reason":"x"}`), []byte{})
	f.Add([]byte("a: &a [*a]"), []byte("{"), []byte(`:::MLLOG {"key": "result_tokens_per_second", "value": 1}`))
	f.Fuzz(func(t *testing.T, config, requests, log []byte) {
		folder := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(folder, record.LogFolder), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, record.ConfigName), config, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, record.LogFolder, "mlperf_log_detail.txt"), log, 0o600))
		lines, err := atomicfile.Shared.CreateLines(filepath.Join(folder, record.RequestsName))
		require.NoError(t, err)
		for line := range bytes.Lines(requests) {
			require.NoError(t, lines.AppendRaw(bytes.TrimRight(line, "\n")))
		}
		require.NoError(t, lines.Close())
		r, err := Read(folder)
		require.NoError(t, err)
		var page bytes.Buffer
		require.NoError(t, WriteHTML(&page, []*Run{r}))
		require.Contains(t, page.String(), `class="verdict CRASHED"`)
	})
}

// A record of another version is shown and marked. Other schemas are rejected, and the error contains both.
func TestFolderOfAnotherVersion(t *testing.T) {
	written := func(text string) string {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, record.FileName), []byte(text), 0o600))
		return folder
	}
	for _, schema := range []string{"mlperf-go/run/0", "mlperf-go/run/2"} {
		text, r := pageOf(t, written(`{"schema":"`+schema+`","verdict":"INVALID","reasons":7,"model":"m"}`))
		require.Equal(t, `OTHER VERSION: the schema is "`+schema+`", this program reads "mlperf-go/run/1" and shows what `+
			`it recognizes; "reasons" has another form, and perhaps others`, r.Mark())
		require.Contains(t, text, template.HTMLEscapeString(r.Mark()))
		require.Equal(t, "m", r.Record.Model)
	}
	for _, schema := range []string{"", "mlperf-go/tune/1", "mlperf-go/run/", "mlperf-go/run/" + strings.Repeat("1", 99)} {
		_, err := Read(written(`{"schema":"` + schema + `"}`))
		require.ErrorContains(t, err, `has the schema "`+schema+`"; this program reads "mlperf-go/run/1"`)
	}
}

// TestReportOfAKilledRun reads what a killed run leaves: the settings, and files under their temporary names.
func TestReportOfAKilledRun(t *testing.T) {
	folder := folderOf(t, 1000)
	require.NoError(t, os.Remove(filepath.Join(folder, record.FileName)))
	require.NoError(t, os.WriteFile(filepath.Join(folder, record.ConfigName),
		[]byte("model: \"<i>\"\nscenario: Server\nmode: performance\nendpoint: [\"http://a\"]\n"), 0o600))
	for _, name := range []string{record.FailuresName, record.MetricsName} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.Rename(path, path+"."+rand.Text()+".tmp"))
	}
	text, r := pageOf(t, folder)
	require.Contains(t, text, `class="verdict CRASHED"`)
	require.Contains(t, text, "the folder has no run.json, because the run was killed or still goes on")
	require.Contains(t, text, "&lt;i&gt; Server performance")
	require.Equal(t, int64(1000), r.Record.Samples.Issued)
	require.Equal(t, int64(10), r.Record.Samples.Failed)
	require.Equal(t, record.EndpointCounts{URL: "http://a", Requests: 1000, Failed: 10}, r.Record.Endpoints[0])
	require.InDelta(t, 0.02, r.Record.LatencyS.TTFT.P99, 1e-6)
	require.NotNil(t, r.Metrics)
	require.Equal(t, 10, r.Failures[0].Count)

	// Without a request log there are no latencies, but the metrics and the failures.
	require.NoError(t, os.Remove(filepath.Join(folder, record.RequestsName)))
	text, r = pageOf(t, folder)
	require.Contains(t, text, `class="verdict CRASHED"`)
	require.NotContains(t, text, "<h3>Latencies</h3>")
	require.NotEmpty(t, r.Figures())
	require.Equal(t, 10, r.Failures[0].Count)

	// A folder without settings is not a run's.
	require.NoError(t, os.Remove(filepath.Join(folder, record.ConfigName)))
	_, err := Read(folder)
	require.ErrorContains(t, err, "has no run.json")
}
