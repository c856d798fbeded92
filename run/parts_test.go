package run

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// newPlan makes a plan that is not bound to a data set.
func newPlan(s Settings) (*plan.Plan, error) { return plan.New(plan.Settings(s)) }

// planned makes a plan for a data set of so many rows.
func planned(t *testing.T, rows int, s Settings) *plan.Plan {
	t.Helper()
	p, err := newPlan(s)
	require.NoError(t, err)
	require.NoError(t, p.Bind(rows))
	return p
}

func TestClaim(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "a", "b")
	claimed(t, folder, false).release()
	require.DirExists(t, filepath.Join(folder, record.LogFolder))

	_, err := claim(folder, false, atomicfile.Private)
	require.EqualValues(t, "output_used", Classify(err).Code)
	require.Equal(t, ExitUsage, Classify(err).Exit)
	require.ErrorContains(t, err, "holds an earlier run (mlperf)")
	require.ErrorContains(t, err, "--resume or --force")

	for _, name := range append(record.Entries, "notes.txt") {
		if name != record.LogFolder {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("old"), 0o644))
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, record.LogFolder, "log"), nil, 0o644))
	claimed(t, folder, true).release()
	require.FileExists(t, filepath.Join(folder, record.FileName), "an earlier run stays until the new one can start")
	report := filepath.Join(folder, record.ReportName)
	require.NoError(t, os.WriteFile(report, []byte("<head>"+record.ReportMark), 0o644))
	died := filepath.Join(folder, record.FailuresName+"."+rand.Text()+".tmp")
	require.NoError(t, os.WriteFile(died, nil, 0o644))
	notes, err := replace(folder, atomicfile.Private)
	require.NoError(t, err)
	require.Equal(t, []string{"the output folder still holds files that no run writes: notes.txt"}, notes)
	require.NoFileExists(t, report, "it shows the earlier run")
	require.NoFileExists(t, died)
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(folder, record.LogFolder), filepath.Join(folder, "notes.txt")}, left,
		"somebody else's file stays")
	require.NoFileExists(t, filepath.Join(folder, record.LogFolder, "log"))

	require.NoError(t, os.WriteFile(report, []byte("<head><title>mlperf-go report"), 0o644))
	_, err = replace(folder, atomicfile.Private)
	require.NoError(t, err)
	require.FileExists(t, report, "another program wrote it")
	require.NoError(t, os.Rename(report, filepath.Join(dir, "page")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "page"), []byte(record.ReportMark), 0o644))
	require.NoError(t, os.Symlink(filepath.Join(dir, "page"), report))
	_, err = replace(folder, atomicfile.Private)
	require.NoError(t, err)
	_, err = os.Lstat(report)
	require.NoError(t, err, "a link is not ours")

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for _, bad := range []string{file, filepath.Join(file, "below")} {
		_, err := claim(bad, false, atomicfile.Private)
		require.Equal(t, ExitEnvironment, Classify(err).Exit)
	}
}

// A run does not remove files that no run wrote, even with --force.
func TestForeignFilesAreNotReplaced(t *testing.T) {
	for _, name := range []string{record.ConfigName, record.MetricsFolder + "/mine", record.LogFolder + "/main.py"} {
		folder := t.TempDir()
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("mine"), 0o644))
		for _, force := range []bool{false, true} {
			_, err := claim(folder, force, atomicfile.Private)
			require.EqualValues(t, "output_used", Classify(err).Code)
			require.Equal(t, ExitUsage, Classify(err).Exit)
			first, _, _ := strings.Cut(name, "/")
			require.ErrorContains(t, err, "has a "+first+" that is not a run's, and would be replaced")
			require.NotContains(t, err.Error(), "--force")
		}
		require.FileExists(t, path)
	}
}

func claimed(t *testing.T, folder string, force bool) *folderLock {
	t.Helper()
	l, err := claim(folder, force, atomicfile.Private)
	require.NoError(t, err)
	t.Cleanup(l.release)
	return l
}

// A second test in a folder would mix its logs with the first one's, and they could pass for one run.
func TestAFolderIsOneRunsAtATime(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	first := claimed(t, folder, false)
	for _, force := range []bool{false, true} {
		_, err := claim(folder, force, atomicfile.Private)
		require.EqualValues(t, "run_active", Classify(err).Code)
		require.Equal(t, ExitUsage, Classify(err).Exit)
		require.ErrorContains(t, err, "another run is writing to the output folder "+folder)
		require.ErrorContains(t, err, "Wait for its end, or choose another --output-dir")
	}
	first.release()
	claimed(t, folder, true)
}

func TestReleaseLeavesNothing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	claimed(t, folder, false).release()
	for _, name := range []string{record.UserConfName, record.ConfigName, record.AuditName,
		filepath.Join(record.LogFolder, "mlperf_log_detail.txt")} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o644))
	}
	cause := exit.Usage("x", "", "%w", os.ErrInvalid)
	run := newTest(nil, nil, folder)
	run.claimed = true
	require.Equal(t, cause, run.release(cause))
	require.NoDirExists(t, folder)

	claimed(t, folder, false).release()
	run.claimed = false // an earlier run's folder
	require.Equal(t, cause, run.release(cause))
	require.DirExists(t, folder)
}

func TestFailuresFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), record.FailuresName)
	require.NoError(t, (&failures{path: path}).close())
	require.NoFileExists(t, path, "a run without a failure has no such file")

	f := &failures{path: path, urls: []string{"http://a", "http://b"}, start: 1e9}
	var wait sync.WaitGroup
	for i := range 50 {
		wait.Go(func() {
			f.add(backends.Attempt{Query: loadgen.Query{Seq: i, Index: 3}, Endpoint: 1, Reason: "http_500", Detail: "HTTP 500",
				Body: []byte("\xffoops"), Retried: i%2 == 0, AtNS: 3e9})
		})
	}
	wait.Wait()
	require.NoError(t, f.close())
	f.add(backends.Attempt{Query: loadgen.Query{Seq: 50}}) // of a test that ended early, whose loops still run
	require.NoError(t, f.close())
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, files, 1, "what comes behind the record begins no file of its own")
	r, err := atomicfile.OpenLines(path)
	require.NoError(t, err)
	defer r.Close()
	seen := map[int]bool{}
	for d := json.NewDecoder(r); d.More(); {
		var line failureLine
		require.NoError(t, d.Decode(&line))
		seen[line.Seq] = true
		require.Equal(t, failureLine{Seq: line.Seq, Index: 3, Endpoint: "http://b", AtS: 2, Reason: "http_500",
			Retried: line.Seq%2 == 0, Detail: "HTTP 500", Body: "\ufffdoops"}, line)
	}
	require.Len(t, seen, 50)
}

// A process that is killed leaves the failures that came before: each line reaches the unfinished file at once.
func TestFailuresAreOnDiskAtOnce(t *testing.T) {
	dir := t.TempDir()
	f := &failures{path: filepath.Join(dir, record.FailuresName), urls: []string{"http://a"}}
	for i := range 3 {
		f.add(backends.Attempt{Query: loadgen.Query{Seq: i}, Reason: "reset"})
		unfinished, err := filepath.Glob(filepath.Join(dir, record.FailuresName+"*"))
		require.NoError(t, err)
		require.Len(t, unfinished, 1)
		text, err := os.ReadFile(unfinished[0])
		require.NoError(t, err)
		require.Equal(t, i+1, strings.Count(string(text), "\n"))
		require.Contains(t, string(text), fmt.Sprintf(`"seq":%d,`, i))
	}
	require.NoError(t, f.close())
}

func TestFailuresFileThatCannotBeWritten(t *testing.T) {
	f := &failures{path: filepath.Join(t.TempDir(), "missing", record.FailuresName)}
	f.add(backends.Attempt{})
	f.add(backends.Attempt{})
	require.ErrorIs(t, f.close(), os.ErrNotExist)
}

func TestExpectedSamples(t *testing.T) {
	for name, c := range map[string]struct {
		scenario string
		mode     string
		settings loadgen.TestSettings
		rows     int
		want     int64
	}{
		"Offline by count": {"Offline", "performance", loadgen.TestSettings{MinQueryCount: 512, OfflineExpectedQPS: 1},
			64, 512},
		"Offline by duration": {"Offline", "performance",
			loadgen.TestSettings{MinQueryCount: 1, OfflineExpectedQPS: 10, MinDurationMS: 60_000}, 64, 660},
		"Server by duration": {"Server", "performance",
			loadgen.TestSettings{MinQueryCount: 100, ServerTargetQPS: 50, MinDurationMS: 10_000}, 64, 500},
		"Server by count": {"Server", "performance",
			loadgen.TestSettings{MinQueryCount: 512, ServerTargetQPS: 50, MinDurationMS: 10_000}, 64, 512},
		"whole sets": {"Offline", "performance",
			loadgen.TestSettings{MinQueryCount: 100, OfflineExpectedQPS: 1, SampleConcatenatePermutation: true}, 64, 128},
		"accuracy is every row": {"Server", "accuracy",
			loadgen.TestSettings{MinQueryCount: 512, ServerTargetQPS: 50, MinDurationMS: 10_000}, 64, 64},
	} {
		t.Run(name, func(t *testing.T) {
			p := planned(t, c.rows, Settings{"model": "llama3.1-8b", "scenario": c.scenario, "mode": c.mode})
			run := &inputs{plan: p, settings: c.settings,
				dataset: &datasets.Dataset{Samples: make([]datasets.Sample, c.rows)}}
			require.Equal(t, c.want, run.expected())
		})
	}
}

// A sample that is not in the data set has no tokens, like one of text.
func TestPromptTokens(t *testing.T) {
	in := &inputs{dataset: &datasets.Dataset{Samples: []datasets.Sample{{InputIDs: make([]int32, 7)}, {Input: "x"}}}}
	for index, want := range map[int]int{-1: 0, 0: 7, 1: 0, 2: 0} {
		require.Equal(t, want, in.promptTokens(index))
	}
}

func TestProgressFigures(t *testing.T) {
	p := planned(t, 64, Settings{"model": "llama3.1-8b", "scenario": "Server"})
	run := newTest(p, nil, "")
	run.ledger, run.started = ledger.New(1, 100), time.Now().Add(-time.Second)
	run.settings = loadgen.TestSettings{MinQueryCount: 100, ServerTargetQPS: 50}
	run.dataset = &datasets.Dataset{Samples: make([]datasets.Sample, 64)}
	pen := run.ledger.Shard(0)
	for i := range 40 {
		pen.Issue(i, i, 1000)
		pen.FirstToken(i, 1000+int64(i)*1e6)
	}
	for i := range 30 {
		reason := ledger.OK
		if i < 3 {
			reason = ledger.FailReset
		}
		pen.Complete(i, &ledger.Completion{Reason: reason, OutputTokens: 2, DoneNS: 5e9})
	}
	got := (&watcher{evidence: &run.evidence}).progress(&ledger.Rate{})
	require.EqualValues(t, 100, got.Total)
	require.EqualValues(t, 40, got.Issued)
	require.EqualValues(t, 30, got.Done)
	require.EqualValues(t, 3, got.Failed)
	require.EqualValues(t, 10, got.InFlight)
	require.Zero(t, got.Left, "one look gives no rate")
	require.InEpsilon(t, 39e6, float64(got.TTFTp99), 0.02)
	require.GreaterOrEqual(t, got.Elapsed, time.Second)
}
