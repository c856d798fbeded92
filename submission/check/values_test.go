package check

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// checkerIn returns a checker of a folder with these files.
func checkerIn(t *testing.T, files map[string]string) *checker {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o644))
	}
	c, err := newChecker(root, Options{})
	require.NoError(t, err)
	t.Cleanup(c.files.close)
	return c
}

// logLine is one line of a detail log.
func logLine(key, value string, isError bool) string {
	return fmt.Sprintf(`:::MLLOG {"key": "%s", "value": %s, "time_ms": 1.0, "namespace": "mlperf::logging", `+
		`"event_type": "POINT_IN_TIME", "metadata": {"is_error": %t, "is_warning": false, "file": "x.cc", "line_no": 1, `+
		`"pid": 1, "tid": 1}}`+"\n", key, value, isError)
}

// The first value of a key counts, and only errors other than that of uncommitted changes are grave.
func TestValuesOfADetailLog(t *testing.T) {
	text := logLine("effective_scenario", `"Server"`, false) + logLine("other", "5", false) +
		logLine("effective_scenario", `"Offline"`, false) + logLine("effective_scenario", `"Server"`, false) +
		logLine("e", `"`+uncommitted+`"`, true)
	d := checkerIn(t, map[string]string{"log": text}).readDetail(t.Context(), "log")
	require.NoError(t, d.err)
	require.True(t, d.usable())
	require.Equal(t, map[string]any{"effective_scenario": "Server"}, d.values)
	require.Equal(t, map[string]int{"effective_scenario": 2}, d.several)
	require.Equal(t, []int{1, 0}, []int{d.errors, d.grave})
	require.Equal(t, "1 error: "+uncommitted, d.errorList())
	for i := range maxTexts + 2 {
		text += logLine("e", fmt.Sprintf(`"late %d"`, i), true)
	}
	d = checkerIn(t, map[string]string{"log": text}).readDetail(t.Context(), "log")
	require.Equal(t, []int{maxTexts + 3, maxTexts + 2, maxTexts}, []int{d.errors, d.grave, len(d.texts)})
	require.Equal(t, "13 errors: "+uncommitted+"; late 0; late 1", d.errorList())
}

// Each way in which a detail log cannot be used.
func TestFaultsOfADetailLog(t *testing.T) {
	good := logLine("other", "5", false)
	for name, c := range map[string]struct{ text, says string }{
		"whole":        {good, ""},
		"empty":        {"", "it has no line of LoadGen"},
		"text":         {"text\n", "it has no line of LoadGen"},
		"text first":   {"text\n" + good, "its first line does not begin with :::MLLOG"},
		"broken":       {good + ":::MLLOG {\n", "1 line cannot be read (of 2), line 2 first"},
		"broken first": {":::MLLOG {\n" + good + ":::MLLOG {\n", "2 lines cannot be read (of 3), line 1 first"},
		"cut":          {good + strings.TrimSuffix(good, "\n")[:40], "its last line is incomplete"},
		"no JSON": {good + logLine("a", "nan", false) + logLine("b", "inf", false),
			"line 2 has a value that is not JSON"},
		"no JSON at once": {logLine("a", "nan", false) + good, "line 1 has a value that is not JSON"},
	} {
		d := checkerIn(t, map[string]string{"log": c.text}).readDetail(t.Context(), "log")
		require.False(t, d.absent, name)
		require.Equal(t, c.says == "", d.usable(), "%s: %v", name, d.err)
		if c.says != "" {
			require.ErrorContains(t, d.err, c.says, name)
		}
	}
	d := checkerIn(t, nil).readDetail(t.Context(), "log")
	require.True(t, d.absent)
	var found []string
	report := func(_, _ string, f, _ any) { found = append(found, fmt.Sprint(f)) }
	logWhole(d, report)
	logWhole(&detail{err: errors.New("broken")}, report)
	logWhole(&detail{}, report)
	require.Equal(t, []string{"no such file", "broken"}, found)
	first := &mllog.Entry{Key: "sut_name", Value: []byte(`"a"`)}
	d = &detail{values: map[string]any{}, several: map[string]int{}}
	d.take(first)
	require.Empty(t, d.several)
}

// A value of a finding is quoted if it is not printable, and cut behind its limit.
func TestShownValues(t *testing.T) {
	long := strings.Repeat("x", maxShown)
	for want, v := range map[string]any{"": nil, "7": 7, "a b": "a b", `"a\nb"`: "a\nb", long: long,
		`"` + long + `"... (401 bytes)`: long + "y"} {
		require.Equal(t, want, shown(v))
	}
}

// The figures of a log have their bounds as the smallest values.
func TestLowestFiguresOfALog(t *testing.T) {
	round, err := rounds.Find(rounds.Current)
	require.NoError(t, err)
	s := resultOf(round, "llama3.1-8b", "Offline", "Offline", "datacenter", false)
	for _, c := range []struct {
		check  func(*scope, breachFunc)
		key    string
		lowest int64
	}{
		{minQueries, "effective_min_query_count", 1}, {minDuration, "effective_min_duration_ms", 600_000},
		{offlineSamples, "effective_samples_per_query", int64(s.model().OfflineSamples)},
		{performanceSampleCount, "effective_performance_sample_count", int64(s.model().PerformanceCount)},
	} {
		require.Equal(t, fmt.Sprintf("%d %d", c.lowest, c.lowest+1), accepted(s, c.check, c.key,
			[]any{nil, c.lowest - 1, c.lowest, c.lowest + 1, fmt.Sprint(c.lowest)}), c.key)
		var expected any
		c.check(s, func(_, _ string, _, e any) { expected = e })
		require.Equal(t, fmt.Sprintf("at least %d", c.lowest), expected)
	}
	for _, c := range []struct {
		check func(*scope, breachFunc)
		key   string
		seed  uint64
	}{
		{seed("k", func(c *checker) uint64 { return c.round.Seeds.QSL }), "k", round.Seeds.QSL},
		{seed("k", func(*checker) uint64 { return math.MaxUint64 }), "k", math.MaxUint64},
	} {
		require.Equal(t, fmt.Sprint(c.seed), accepted(s, c.check, c.key, []any{nil, c.seed - 1, c.seed, c.seed + 1,
			fmt.Sprint(c.seed), 0}))
	}
	for _, c := range []struct {
		check func(*scope, breachFunc)
		key   string
		want  string
	}{
		{tokenLatencies, "requested_use_token_latencies", "true 1"}, {equalIssue,
			"effective_sample_concatenate_permutation", "true 1"},
		{earlyStopping, "early_stopping_met", "true 1"}, {performanceErrorCount, "num_errors", "<nil> false 0"},
	} {
		require.Equal(t, c.want, accepted(s, c.check, c.key, []any{nil, false, true, 0, 1}), c.key)
	}
	require.Equal(t, "VALID", accepted(s, performanceValidity, "result_validity", []any{nil, "INVALID", "VALID",
		"valid", true}))
	mode := func(s *scope, b breachFunc) { testMode(s.result.performance, "PerformanceOnly", b) }
	require.Equal(t, "PerformanceOnly", accepted(s, mode, "effective_test_mode", []any{nil, "AccuracyOnly",
		"PerformanceOnly"}))
	s.result.performance.values = map[string]any{"early_stopping_met": false, "early_stopping_result": "more"}
	earlyStopping(s, func(_, _ string, found, _ any) { require.Equal(t, "false: more", found) })
}

// The name of a networked system under test contains a fixed text.
func TestNamesOfNetworkedSystems(t *testing.T) {
	for _, c := range []struct {
		flag, name any
		ok         bool
	}{{"true", "a Network SUT b", true}, {"True", "x", false}, {"TRUE", nil, false}, {"false", "x", true}, {nil, "x",
		true},
		{true, "x", true}} {
		s := resultOf(rounds.All()[0], "llama3.1-8b", "Offline", "Offline", "datacenter", false)
		s.sut().values[layout.NetworkFlag] = c.flag
		s.result.performance.values["sut_name"] = c.name
		broken := false
		networkSUTName(s, func(string, string, any, any) { broken = true })
		require.Equal(t, c.ok, !broken, c)
	}
}

// The files of another client have LoadGen's keys, and the rate is that of its counts if it names none.
func TestKeysOfAnotherClient(t *testing.T) {
	figures := func(count, ns any) map[string]any {
		return map[string]any{"n_samples_issued": count, "duration_ns": ns,
			"latency": map[string]any{"avg": 7, "early_stopping_percentiles": map[string]any{"99.0": 5}}}
	}
	for name, c := range map[string]struct {
		summary map[string]any
		rate    any
	}{
		"rate": {figures(100, 2e9), 50.0}, "no time": {figures(100, nil), nil}, "no count": {figures(nil, 2e9), nil},
		"zero": {figures(100, 0), nil}, "negative": {figures(100, -1), nil}, "one": {figures(100, 1), 1e11},
	} {
		d := &detail{values: map[string]any{}}
		d.translate(c.summary, map[string]any{"type": "online", "settings": map[string]any{"runtime": 5}})
		require.Equal(t, c.rate, d.values["result_samples_per_second"], name)
		require.Equal(t, []any{7, 5, "server"}, []any{d.values["result_mean_latency_ns"], d.values[latencyKey],
			d.values["effective_scenario"]})
		_, given := d.values["effective_min_duration_ms"]
		require.False(t, given)
	}
	d := &detail{values: map[string]any{"result_samples_per_second": 9.0}}
	d.translate(figures(100, 2e9), map[string]any{"type": "offline"})
	require.Equal(t, []any{9.0, "offline"}, []any{d.values["result_samples_per_second"], d.values["effective_scenario"]})
}

// The configuration of another client has two names, of which the first counts.
func TestConfigurationOfAnotherClient(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  map[string]any
		says  string
	}{
		"none":   {nil, nil, "there is no config.yaml"},
		"first":  {map[string]string{"d/config.yaml": "a: 1", "d/config.yml": "a: 2"}, map[string]any{"a": 1}, ""},
		"second": {map[string]string{"d/config.yml": "a: 2"}, map[string]any{"a": 2}, ""},
		"broken": {map[string]string{"d/config.yaml": "a: [", "d/config.yml": "a: 2"}, nil, "cannot read config.yaml"},
	} {
		got, err := checkerIn(t, c.files).readClientConfig("d")
		require.Equal(t, c.want, got, name)
		if c.says == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.says)
		}
	}
}

// A file is read up to its limit.
func TestLimitsOfFiles(t *testing.T) {
	c := checkerIn(t, map[string]string{"a": "12345", "d/b": ""})
	b, err := c.files.read("a", 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(b))
	_, err = c.files.read("a", 4)
	require.ErrorContains(t, err, "it has more than 4 bytes")
	size, there := c.files.size("a")
	require.Equal(t, []any{int64(5), true}, []any{size, there})
	_, there = c.files.size("b")
	require.False(t, there)
	_, there = c.files.size("d")
	require.True(t, there)
	for name, plain := range map[string]bool{"a": true, "d": false, "d/b": true, "b": false} {
		size, there := c.files.plainSize(name)
		require.Equal(t, plain, there, name)
		require.Equal(t, name == "a", size == 5, name)
	}
	_, err = c.files.open("d")
	require.Equal(t, errNotPlain, err)
	l := c.files.list(".")
	require.Equal(t, [][]string{{"d"}, {"a"}}, [][]string{l.folders, l.plain})
	c.files.links.Store(maxLinks - 1)
	for _, link := range []string{"x", "y"} {
		require.NoError(t, os.Symlink("d", filepath.Join(c.files.root, link)))
		l = c.files.list(".")
		require.Equal(t, link == "x", l.err == nil, link)
		c.files.links.Store(maxLinks - 1)
	}
	require.ErrorContains(t, l.err, "the tree has more than 20000 links")
	require.Equal(t, []string{"d", "x"}, l.folders)
}

// A file of a submitter has a limited size and a plain name.
func TestFilesOfASubmitter(t *testing.T) {
	c := checkerIn(t, map[string]string{"s/ok": "x", "s/.hidden": "x", "s/a b": "x", "s/__pycache__/x": "x",
		"s/my__pycache__/x": "x"})
	at := func(name string) string { return filepath.Join(c.files.root, "s", name) }
	require.NoError(t, os.Mkdir(at("empty"), 0o755))
	for name, size := range map[string]int64{"large": 50 << 20, "larger": 50<<20 + 1} {
		require.NoError(t, os.WriteFile(at(name), nil, 0o644))
		require.NoError(t, os.Truncate(at(name), size))
	}
	for name, to := range map[string]string{"broken": "none", "out": "/etc/passwd", "link": "larger", "folder": "empty"} {
		require.NoError(t, os.Symlink(to, at(name)))
	}
	found := map[string]string{}
	submitterFiles(&scope{checker: c, path: "s"}, func(file, _ string, f, _ any) { found[file] = fmt.Sprint(f) })
	require.Equal(t, map[string]string{"s/.hidden": "a name that begins with a dot", "s/a b": "a name with a blank",
		"s/__pycache__": "a __pycache__ folder", "s/my__pycache__": "a __pycache__ folder", "s/empty": "an empty folder",
		"s/larger": "52428801 bytes", "s/link": "52428801 bytes", "s/broken": "a broken link",
		"s/out": "a link leads out of the tree"}, found)
}

// An accuracy log is truncated to at most ten KiB, and is at its place.
func TestSizesOfAccuracyLogs(t *testing.T) {
	for size, says := range map[int]string{-1: "no such file", 0: "", 10 << 10: "", 10<<10 + 1: "10241 bytes"} {
		files := map[string]string{"r/x": ""}
		if size >= 0 {
			files["r/accuracy/mlperf_log_accuracy.json"] = strings.Repeat("x", size)
		}
		s := &scope{checker: checkerIn(t, files), path: "r"}
		var found []string
		report := func(_, _ string, f, _ any) { found = append(found, fmt.Sprint(f)) }
		accuracyJSON(s, report)
		accuracyJSONSize(s, report)
		require.Equal(t, says, strings.Join(found, ", "), size)
	}
}

// A line of accuracy.txt may end with a carriage return, and what follows a complete one is not read.
func TestLinesOfScores(t *testing.T) {
	round, err := rounds.Find(rounds.Current)
	require.NoError(t, err)
	const good = "{'rouge1': 99, 'rouge2': 99, 'rougeL': 99, 'rougeLsum': 99, 'gen_len': 8166958}"
	for name, c := range map[string]struct {
		text, rouge, hash string
	}{
		"both":                {good + "\nhash=ab\n", "99", "ab"},
		"hash first":          {"hash=ab\n" + good, "99", "ab"},
		"Windows":             {good + "\r\nhash=ab\r\n", "99", "ab"},
		"old Mac":             {good + "\rhash=ab\r", "99", "ab"},
		"the last hash":       {"hash=ab\nhash=cd\n" + good, "99", "cd"},
		"not after its end":   {good + "\nhash=ab\nhash=cd\n{'rouge1': 1}\n", "99", "ab"},
		"after an incomplete": {"{'rouge1': 1}\nhash=ab\nhash=cd\n{'rouge1': 2}\n", "2", "cd"},
		"no hash":             {good + "\n hash=ab\nhash=a b\n", "99", ""},
	} {
		s := resultOf(round, "llama3.1-8b", "Offline", "Offline", "datacenter", false)
		got := checkerIn(t, map[string]string{"a.txt": c.text}).readScores("a.txt", s)
		require.NoError(t, got.err, name)
		require.Equal(t, []string{c.rouge, c.hash}, []string{got.found["ROUGE1"], got.hash}, name)
	}
	got := checkerIn(t, nil).readScores("a.txt", resultOf(round, "llama3.1-8b", "Offline", "Offline", "datacenter", false))
	require.True(t, got.absent)
}

// Numbers of results are given in order, and those of the report before are kept.
func TestNumbersOfResults(t *testing.T) {
	entries := []finalEntry{{unique: "b"}, {unique: "a"}, {unique: "b"}, {unique: "old"}}
	ids := map[string]int{"old": 7, "other": 12}
	assignIDs(entries, FinalOptions{Version: "6.1", IDs: ids})
	require.Equal(t, map[string]int{"old": 7, "other": 12, "b": 13, "a": 14}, ids)
	var got []string
	for _, e := range entries {
		got = append(got, e.id)
		require.Equal(t, "ID", e.pairs[0].key)
	}
	require.Equal(t, []string{"6.1-0013", "6.1-0014", "6.1-0013", "6.1-0007"}, got)
	var out strings.Builder
	require.NoError(t, WriteIDs(&out, map[string]int{"b": 1, "a": 12, "é": 2}))
	require.Equal(t, "{\n    \"b\": 1,\n    \"\\u00e9\": 2,\n    \"a\": 12\n}", out.String())
	table := finalTable{kind: map[string]string{"i": "int", "f": "float", "b": "bool", "t": "text"}}
	for _, c := range []struct{ column, cell, want string }{{"i", "-07", "-7"}, {"f", "1", "1.0"}, {"f",
		"0.123456789012", "0.123456789"},
		{"f", "N/A", `""`}, {"b", "True", "true"}, {"t", "a<b", `"a<b"`}, {"t", "nan", `""`}, {"i", "", `""`}} {
		require.Equal(t, c.want, string(table.value(row{c.column: c.cell}, c.column)), c)
	}
	for _, c := range []struct{ column, cell, kind, want string }{{"Scenario", "offline", "text", `"Offline"`},
		{"accelerator_model_name", "-", "text", `""`}, {"accelerator_model_name", "A", "text", `"A"`}, {"framework", "-",
			"text", `"-"`},
		{"accelerators_per_node", "0", "int", `""`}, {"accelerators_per_node", "8", "int", "8"}, {"number_of_nodes", "0",
			"int", "0"}} {
		table := finalTable{kind: map[string]string{c.column: c.kind}}
		require.Equal(t, c.want, string(table.adapted(row{c.column: c.cell}, c.column)), c)
	}
}

// JSON has no infinite numbers, and a location ends with one slash.
func TestFiguresOfReports(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.Zero(t, finite(f))
	}
	require.Equal(t, -1.5, finite(-1.5))
	for location, want := range map[string]string{"": "r/performance/run_1", "a": "a/r/performance/run_1",
		"a/": "a/r/performance/run_1"} {
		s := reported{&scope{checker: &checker{o: Options{Location: location}}, path: "r"}}
		require.Equal(t, want, s.location())
	}
	require.Equal(t, "v", Result{row: row{"c": "v"}}.Column("c"))
	require.Empty(t, Result{}.Column("c"))
	for name, want := range map[string]string{"OFFLINE": "Offline", "server": "Server", "multistream": "MultiStream",
		"singleStream": "SingleStream", "interactive": "Interactive", "": "", "Burst": ""} {
		require.Equal(t, want, canonical(name))
	}
}
