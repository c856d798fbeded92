package check

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// folderOf returns a scenario's folder in a division, with a description of its system.
func folderOf(division string, described map[string]any, o Options) *scope {
	s := resultOf(rounds.All()[0], "llama3.1-8b", "Offline", "Offline", "datacenter", false)
	s.o = o
	system := s.at(systemLevel)
	system.system = &document{path: "system", values: described}
	system.up = &scope{checker: s.checker, level: submitterLevel, name: "ExampleOrg",
		up: &scope{checker: s.checker, level: divisionLevel, name: division}}
	s.result.measurements = &document{path: "measurements", values: map[string]any{}}
	s.result.scores = &scores{found: map[string]string{}}
	return s
}

// keysOf returns the keys that a check finds fault with, in its order.
func keysOf(s *scope, check func(*scope, breachFunc)) (keys []string) {
	check(s, func(_, key string, _, _ any) { keys = append(keys, key) })
	return keys
}

// A field is either missing, or empty where it may not be, or right.
func TestEachFieldOfTheDocuments(t *testing.T) {
	network := slices.Concat(layout.SystemFields, layout.NetworkFields)
	for _, c := range []struct {
		fields         []layout.Field
		flag           any
		missing, empty func(*scope, breachFunc)
		document       func(*scope) *document
	}{
		{layout.SystemFields, nil, systemFieldMissing, systemFieldEmpty, (*scope).sut},
		{network, "true", systemFieldMissing, systemFieldEmpty, (*scope).sut},
		{layout.MeasurementFields, nil, measurementsMissing, measurementsEmpty,
			func(s *scope) *document { return s.result.measurements }},
	} {
		s := folderOf("closed", map[string]any{}, Options{})
		values := c.document(s).values
		if c.flag != nil {
			values[layout.NetworkFlag] = c.flag
		}
		for _, f := range c.fields {
			values[f.Name] = "x"
		}
		require.Empty(t, keysOf(s, c.missing))
		require.Empty(t, keysOf(s, c.empty))
		for _, f := range c.fields {
			delete(values, f.Name)
			require.Equal(t, []string{f.Name}, keysOf(s, c.missing))
			require.Empty(t, keysOf(s, c.empty), "%s is missing, which is another rule's fault", f.Name)
			values[f.Name] = ""
			require.Empty(t, keysOf(s, c.missing), f.Name)
			require.Equal(t, !f.Empty, slices.Equal([]string{f.Name}, keysOf(s, c.empty)), f.Name)
			require.Equal(t, f.Empty, keysOf(s, c.empty) == nil, f.Name)
			s.o.SkipEmptyFields = true
			require.Empty(t, keysOf(s, c.empty), f.Name)
			s.o.SkipEmptyFields = false
			values[f.Name] = "x"
		}
	}
}

// The checks of single fields of a system's description, with values that each must accept and reject.
func TestValuesOfASystem(t *testing.T) {
	for _, c := range []struct {
		key, division  string
		check          func(*scope, breachFunc)
		right, refused []any
	}{
		{"status", "closed", systemStatus, []any{"available", "RDI", "Preview"}, []any{nil, "", "x", 1}},
		{"system_type", "closed", systemType, []any{"edge", "edge,datacenter"}, []any{nil, "Edge", "", 1}},
		{"is_network", "closed", systemNetwork, []any{nil, "", "false", "x"}, []any{"true", "TRUE", true, 1}},
		{"is_network", "open", systemNetwork, []any{nil, "", "false", "true"}, []any{true, false, 1}},
		{"is_network", "network", systemNetwork, []any{"true", "True"}, []any{nil, "", "false", true, 1}},
		{"submitter", "closed", systemSubmitter, []any{"ExampleOrg", "exampleorg"}, []any{nil, "x", 1}},
		{"division", "closed", systemDivision, []any{"closed", "Closed"}, []any{nil, "open", 1}},
		{"division", "open", systemDivisionSpelling, []any{"open", "closed", nil}, []any{"Open"}},
	} {
		for _, v := range c.right {
			require.Empty(t, keysOf(folderOf(c.division, map[string]any{c.key: v}, Options{}), c.check), "%s %v", c.key, v)
		}
		for _, v := range c.refused {
			require.Equal(t, []string{c.key},
				keysOf(folderOf(c.division, map[string]any{c.key: v}, Options{}), c.check), "%s %v", c.key, v)
		}
	}
}

// Counts in the description are whole numbers; the last one matters to the final report alone, and an empty one is
// another rule's fault unless that rule is off.
func TestNumbersOfASystem(t *testing.T) {
	for i, name := range layout.NumberFields {
		for _, skip := range []bool{false, true} {
			for _, mode := range []Mode{Compat, Strict} {
				o := Options{Mode: mode, SkipEmptyFields: skip}
				asked := i < 2 || mode == Strict
				for v, faulty := range map[any]bool{"two": true, "1.5": true, "2": false, 2: false, true: false, "": skip} {
					found := keysOf(folderOf("closed", map[string]any{name: v}, o), systemNumber)
					require.Equal(t, asked && faulty, slices.Equal([]string{name}, found), "%v %v %+v", name, v, o)
				}
				require.Empty(t, keysOf(folderOf("closed", map[string]any{}, o), systemNumber))
			}
		}
	}
}

// Unknown fields of a system description are reported in the order of their names.
func TestUnknownFieldsOfASystem(t *testing.T) {
	described := map[string]any{"division": "closed", layout.NetworkFields[0].Name: "x"}
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, name := range names {
		described[name] = "x"
	}
	require.Equal(t, names, keysOf(folderOf("closed", described, Options{}), systemFieldUnknown))
}

// An accuracy log may hold the error about uncommitted changes with that exception, and only for the official checker.
func TestErrorsOfAnAccuracyLog(t *testing.T) {
	for errors := range 2 {
		for grave := range errors + 1 {
			for _, exceptions := range []bool{false, true} {
				for _, mode := range []Mode{Compat, Strict} {
					s := folderOf("closed", nil, Options{Mode: mode, SubmissionExceptions: exceptions})
					s.result.accuracy = &detail{errors: errors, grave: grave, texts: []string{"x"}}
					accepted := errors == 0 || grave == 0 && exceptions && mode == Compat
					require.Equal(t, accepted, keysOf(s, accuracyErrors) == nil, "%d %d %+v", errors, grave, s.o)
				}
			}
		}
	}
}

// Another client's score may be its bound, but not less; where no score is asked for, any will do.
func TestScoresOfAnotherClient(t *testing.T) {
	for _, round := range rounds.All() {
		for _, b := range round.Benchmarks {
			for _, folder := range []string{"Offline", "Server", "server"} {
				s := resultOf(round, b.Name, folder, folder, "datacenter", true)
				if len(s.atLeastTargets()) == 0 {
					continue
				}
				bound := s.atLeastTargets()[0].Bound
				for text, enough := range map[string]bool{fmt.Sprint(bound): true, fmt.Sprint(bound * 1.01): true,
					fmt.Sprint(bound * 0.99): false, "": false, "high": false} {
					s.result.scores.found = map[string]string{"f1": text}
					require.Equal(t, enough || !b.OtherClientScored, keysOf(s, clientScore) == nil, "%s %q", b.Name, text)
				}
			}
		}
	}
}

// The number of answers that an accuracy run needs is the round's, or else that of the scenario, the benchmark or its
// data set.
func TestCountsOfAnAccuracyRun(t *testing.T) {
	row := func(benchmark, offline, samples int) *models.Row {
		return &models.Row{AccuracyCount: benchmark, DatasetSamples: samples,
			Scenarios: []models.ScenarioRow{{Scenario: models.Offline, Samples: offline}}}
	}
	for _, c := range []struct {
		round int
		row   *models.Row
		want  int
	}{
		{5, nil, 5}, {0, nil, 0}, {5, row(4, 3, 2), 5}, {1, row(4, 3, 2), 1}, {0, row(4, 3, 2), 3}, {0, row(4, 0, 2), 4},
		{0, row(0, 0, 2), 2},
	} {
		b := benchmark{Benchmark: &rounds.Benchmark{AccuracyCount: c.round}, row: c.row}
		require.Equal(t, c.want, b.accuracyCount("Offline"), "%+v", c)
	}
}

// An accuracy log states how many samples it has, exactly and under either key; one that cannot be used is another
// rule's fault.
func TestSamplesOfAnAccuracyLog(t *testing.T) {
	const own, library = "effective_accuracy_sample_count", "qsl_reported_total_count"
	s := folderOf("closed", nil, Options{})
	want := int64(s.model().accuracyCount("Offline"))
	for name, c := range map[string]struct {
		log  detail
		keys []string
	}{
		"all":             {detail{values: map[string]any{own: want}}, nil},
		"of the library":  {detail{values: map[string]any{library: want}}, nil},
		"both":            {detail{values: map[string]any{own: want, library: int64(5)}}, nil},
		"fewer":           {detail{values: map[string]any{own: want - 1, library: want}}, []string{own}},
		"more":            {detail{values: map[string]any{library: want + 1}}, []string{library}},
		"no number":       {detail{values: map[string]any{own: "many"}}, []string{own}},
		"nothing":         {detail{values: map[string]any{}}, []string{library}},
		"no log":          {detail{absent: true, err: errNothing}, nil},
		"a damaged log":   {detail{err: errNothing, values: map[string]any{own: int64(5)}}, nil},
		"a missing value": {detail{values: map[string]any{own: nil}}, []string{own}},
	} {
		s.result.accuracy = &c.log
		require.Equal(t, c.keys, keysOf(s, accuracyCount), name)
		s.o.SkipDatasetSize = true
		require.Empty(t, keysOf(s, accuracyCount), name)
		s.o.SkipDatasetSize = false
	}
	s.at(benchmarkLevel).bench = nil
	require.Empty(t, keysOf(s, accuracyCount), "an unknown benchmark")
}
