//go:build cgo && !noloadgen

package loadgen_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// skipped lists every golden file that cannot be reproduced through the bridge, with the reason.
var skipped = map[string]string{
	"server_coalesce":               "needs an IssueQuery that blocks its caller: the bridge's returns at once (rule 1)",
	"table_double_format":           "LoadGen's number formatting by itself: no call leads to it",
	"table_early_stopping":          "LoadGen's internal early-stopping function",
	"table_early_stopping_sequence": "LoadGen's internal early-stopping function",
	"table_mt19937":                 "raw generator outputs, which LoadGen does not show",
	"table_percentile_index":        "an index inside LoadGen's sorted latencies",
	"table_uniform_int":             "raw generator outputs, which LoadGen does not show",
	"table_uniform_real":            "raw generator outputs, which LoadGen does not show",
	"table_verdicts": "LoadGen's evaluation of made-up latency lists, which no run can bring about to " +
		"the nanosecond",
}

// refused lists the cases that the bridge must reject, with the setting that the error must name.
var refused = map[string]string{"server_two_issue_threads": "server_num_issue_query_threads"}

func TestGoldenSkipsAreFew(t *testing.T) {
	require.LessOrEqual(t, len(skipped), 12)
	for name := range skipped {
		_, err := os.Stat(filepath.Join(goldenDir(t), name+".json"))
		require.NoError(t, err, "a skip without its file")
	}
}

// goldenDir returns the folder of the recorded results that the environment names, or else that next to the repository.
func goldenDir(t testing.TB) string {
	t.Helper()
	root := os.Getenv("MLPERF_GO_GOLDEN")
	if root == "" {
		dir, err := os.Getwd()
		require.NoError(t, err)
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				break
			}
			require.NotEqual(t, dir, filepath.Dir(dir), "no go.mod above the test")
			dir = filepath.Dir(dir)
		}
		root = filepath.Join(filepath.Dir(dir), "shared", "golden")
	}
	root = filepath.Join(root, "loadgen")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no recorded figures: %v (MLPERF_GO_GOLDEN names their folder)", err)
	}
	return root
}

// slots limits the number of children that run at the same time.
var slots = make(chan struct{}, 2)

// sequence is a list of integers in the notation of a golden file.
type sequence struct {
	Count   *int
	Uniform *int
	Hash    *string `json:"fnv1a64"`
	Full    []int
	Head    []int
	Tail    []int
}

type golden struct {
	job
	Settings     map[string]any `json:"settings_at_start_test"`
	Loads        []sequence
	Unloads      []sequence
	UnloadsEqual bool `json:"unloads_equal_loads"`
	Generated    []struct {
		QueryCount      int `json:"query_count"`
		SamplesPerQuery int `json:"samples_per_query"`
		DurationNS      int `json:"generated_duration_ns"`
		Samples         sequence
		DeltaNS         sequence `json:"scheduled_delta_ns"`
	}
	Issued struct {
		QueryCount *int     `json:"query_count"`
		QuerySizes sequence `json:"query_sizes"`
		Flush      []*int   `json:"flush_after_queries"`
		IsPrefix   bool     `json:"is_prefix_of_generated"`
		Samples    sequence
	}
	Detail      []goldenEntry
	Summary     []*string `json:"summary_lines"`
	Verdict     map[string]string
	AccuracyLog struct {
		Bytes   *int
		Hash    *string `json:"fnv1a64"`
		Entries *int
		SeqIDs  sequence `json:"seq_ids"`
		Text    *string
	} `json:"accuracy_log"`
	Trace      map[string][]string `json:"trace_events"`
	TraceBytes *int64              `json:"trace_file_bytes"`
	Stdout     *string
	Stderr     *string
}

// goldenEntry is one entry of the recorded detail log, or a group of similar entries.
type goldenEntry struct {
	Key       string
	Value     any
	Volatile  bool
	EventType string `json:"event_type"`
	IsError   bool   `json:"is_error"`
	IsWarning bool   `json:"is_warning"`
	Repeat    int
	Hash      *string `json:"value_fnv1a64"`
	Count     *int
}

func TestGoldenLoadGen(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(goldenDir(t), "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.HasPrefix(name, "table_") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if why := skipped[name]; why != "" {
				t.Skip(why)
			}
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var g golden
			require.NoError(t, decode(text, &g))
			for _, s := range g.Generated {
				g.SeriesEnds = append(g.SeriesEnds, s.QueryCount*s.SamplesPerQuery)
			}
			for i := 1; i < len(g.SeriesEnds); i++ {
				g.SeriesEnds[i] += g.SeriesEnds[i-1]
			}
			runGolden(t, &g, refused[name])
		})
	}
}

// runGolden runs a case. Verdicts depend on latencies, which a busy machine can increase, so the test fails only if
// three runs differ from the record.
func runGolden(t *testing.T, g *golden, refusedField string) {
	for attempt := 1; ; attempt++ {
		o := must(t, g.job, 60*time.Second)
		if refusedField != "" {
			require.Equal(t, refusedField, o.Field, o.Err)
			return
		}
		d := &differences{}
		g.compare(d, o)
		if len(d.list) == 0 {
			return
		}
		if attempt == 3 {
			t.Fatalf("differs from the official library's record in %d points:\n%s", len(d.list),
				strings.Join(d.list[:min(len(d.list), 30)], "\n"))
		}
		t.Logf("run %d differs:\n%s", attempt, strings.Join(d.list[:min(len(d.list), 10)], "\n"))
	}
}

type differences struct{ list []string }

func (d *differences) check(ok bool, format string, args ...any) {
	if !ok {
		d.list = append(d.list, fmt.Sprintf(format, args...))
	}
}

func same[T comparable](d *differences, what string, want *T, got T) {
	if want != nil {
		d.check(*want == got, "%s: %v, recorded %v", what, got, *want)
	}
}

func (g *golden) compare(d *differences, o outcome) {
	d.check(o.Err == "", "StartTest: %s", o.Err)
	g.compareSettings(d, o)
	g.compareLoads(d, o)
	g.compareIssued(d, o)
	prefix := "mlperf_log_"
	if p := g.LogSettings.Prefix; p != nil {
		prefix = *p
	}
	path := func(stem, ext string) string { return filepath.Join(o.dir, prefix+stem+g.LogSettings.Suffix+ext) }
	entries, warnings, errs, err := readDetail(path("detail", ".txt"))
	d.check(err == nil, "%v", err)
	g.compareDetail(d, entries)
	g.compareSummary(d, path("summary", ".txt"), warnings+errs > 0)
	g.compareAccuracy(d, path("accuracy", ".json"))
	g.compareTrace(d, path("trace", ".json"))
	if g.Stdout != nil {
		d.check(matches(*g.Stdout, o.stdout), "stdout: %q, recorded %q", o.stdout, *g.Stdout)
	}
	if g.Stderr != nil {
		d.check(matches(*g.Stderr, o.stderr), "stderr: %q, recorded %q", o.stderr, *g.Stderr)
	}
}

func (g *golden) compareSettings(d *differences, o outcome) {
	var codes []int
	for _, s := range g.Steps {
		if s.ReturnCode != nil {
			codes = append(codes, *s.ReturnCode)
		}
	}
	d.check(slices.Equal(codes, o.ReturnCodes), "FromConfig returned %v, recorded %v", o.ReturnCodes, codes)
	compareFields(d, g.Settings, o.record.Settings)
}

func compareFields(d *differences, want, got map[string]any) {
	for name, value := range want {
		d.check(sameValue(value, got[name]), "setting %s: %v, recorded %v", name, got[name], value)
	}
}

func (g *golden) compareLoads(d *differences, o outcome) {
	compareSequences(d, "load", g.Loads, o.record.Loads)
	if g.UnloadsEqual {
		d.check(slices.EqualFunc(o.record.Loads, o.record.Unloads, slices.Equal), "unloads differ from loads")
	} else {
		compareSequences(d, "unload", g.Unloads, o.record.Unloads)
	}
}

func compareSequences(d *differences, what string, want []sequence, got [][]int) {
	d.check(len(want) == len(got), "%d %ss, recorded %d", len(got), what, len(want))
	for i := range min(len(want), len(got)) {
		want[i].compare(d, fmt.Sprintf("%s %d", what, i), got[i])
	}
}

func (s *sequence) compare(d *differences, what string, got []int) {
	same(d, what+" count", s.Count, len(got))
	same(d, what+" hash", s.Hash, hashInts(got))
	if s.Full != nil {
		d.check(slices.Equal(s.Full, got), "%s: %v, recorded %v", what, cut(got), cut(s.Full))
	}
	if len(got) >= len(s.Head) && len(got) >= len(s.Tail) {
		d.check(slices.Equal(s.Head, got[:len(s.Head)]), "%s begins %v, recorded %v", what, cut(got), cut(s.Head))
		d.check(slices.Equal(s.Tail, got[len(got)-len(s.Tail):]), "%s ends differently", what)
	}
	for i, v := range got {
		if s.Uniform != nil && v != *s.Uniform {
			d.check(false, "%s: element %d is %d, recorded %d for all", what, i, v, *s.Uniform)
			break
		}
	}
}

func cut(list []int) []int { return list[:min(len(list), 12)] }

func hashInts(list []int) string {
	h := fnv.New64a()
	var word [8]byte
	for _, v := range list {
		binary.LittleEndian.PutUint64(word[:], uint64(v))
		h.Write(word[:])
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

func (g *golden) compareIssued(d *differences, o outcome) {
	same(d, "issued queries", g.Issued.QueryCount, len(o.QuerySizes))
	g.Issued.QuerySizes.compare(d, "query sizes", o.QuerySizes)
	g.Issued.Samples.compare(d, "issued samples", o.Samples)
	d.check(len(g.Issued.Flush) == len(o.Flushes), "flushes: %v", o.Flushes)
	d.check(slices.Equal(o.Flushed, []int{0, len(o.Samples)}), "flushed: %v of %d", o.Flushed, len(o.Samples))
	for i := range min(len(g.Issued.Flush), len(o.Flushes)) {
		same(d, "queries before flush", g.Issued.Flush[i], o.Flushes[i])
	}
	if g.Issued.IsPrefix && len(g.Generated) > 0 {
		list := g.Generated[0].Samples
		n := min(len(o.Samples), max(len(list.Full), len(list.Head)))
		d.check(slices.Equal(append(list.Full, list.Head...)[:n], o.Samples[:n]),
			"issued samples are no prefix of the generated ones")
	}
	if g.scenario() != "Server" || len(g.Generated) == 0 || len(o.IssuedNS) == 0 {
		return
	}
	// A query is never issued before its scheduled time. The first query may have been issued late, for which 50 ms are
	// allowed.
	for i, delta := range g.Generated[0].DeltaNS.Full {
		if i < len(o.IssuedNS) && o.IssuedNS[i]-o.IssuedNS[0] < int64(delta)-int64(50*time.Millisecond) {
			d.check(false, "query %d was issued %d ns after the first, its schedule says %d", i, o.IssuedNS[i]-o.IssuedNS[0],
				delta)
			break
		}
	}
}

func (g *golden) scenario() string {
	name, _ := g.Settings["scenario"].(string)
	return name
}
