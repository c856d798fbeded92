package models

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTakeOfASelection(t *testing.T) {
	s := &Selection{Percent: map[string]int{"a": 10, "b": 100}, Whole: 20}
	for _, c := range []struct {
		subset      string
		rows, taken int
	}{{"a", 19, 19}, {"a", 20, 20}, {"a", 21, 2}, {"a", 199, 19}, {"b", 300, 300}, {"c", 300, 0}, {"c", 5, 0}} {
		require.Equal(t, c.taken, s.Take(c.subset, c.rows), "%d rows of %s", c.rows, c.subset)
	}
	s = &Selection{Percent: map[string]int{"a": 1}}
	require.Equal(t, 1, s.Take("a", 7), "at least one row")
}

func TestDataFileInWords(t *testing.T) {
	f := DataFile{Use: "accuracy", Samples: 12345, Bytes: 1_500_000}
	require.Equal(t, []string{"accuracy", "12,345", "2 MB"}, []string{f.For(), f.Rows(), f.Size()})
	f = DataFile{Bytes: 1_499_999}
	require.Equal(t, []string{"every test", "not stated", "1 MB"}, []string{f.For(), f.Rows(), f.Size()})
	f = DataFile{}
	require.Equal(t, "not stated", f.Size())
	require.True(t, (&DataSource{Fetch: fromStorage("x")}).Stored())
	require.False(t, (&DataSource{Fetch: []string{"curl x"}}).Stored())
	require.False(t, (&DataSource{}).Stored())
}

func TestScenariosAreACopy(t *testing.T) {
	Scenarios()[0] = "changed"
	require.Equal(t, []Scenario{Offline, Server, Interactive, SingleStream}, Scenarios())
}

func TestDefaultScenario(t *testing.T) {
	row := &Row{Scenarios: []ScenarioRow{{Scenario: Server}, {Scenario: Offline}}}
	require.Equal(t, Offline, row.DefaultScenario())
	row = &Row{Scenarios: []ScenarioRow{{Scenario: SingleStream}, {Scenario: Server}}}
	require.Equal(t, SingleStream, row.DefaultScenario())
}

func TestReferenceOfColumns(t *testing.T) {
	c := ScoringColumns{Target: "t", Metric: "m", Tests: "x"}
	r, ok := c.Reference([]string{"1", "2", "3"})
	require.True(t, ok)
	require.Equal(t, Reference{Target: "1", Metric: "2", Tests: "3"}, r)
	for _, values := range [][]string{nil, {"1", "2"}, {"1", "2", "3", "4"}} {
		_, ok = c.Reference(values)
		require.False(t, ok, "%d values for 3 columns", len(values))
	}
}

func TestTargetsOfAScenario(t *testing.T) {
	s := Scoring{Targets: []Target{{Metric: "rouge1"}}, Scenarios: map[Scenario][]Target{Server: {{Metric: "other"}}}}
	require.Equal(t, "ROUGE1", s.TargetsFor(Offline)[0].CheckerName())
	require.Equal(t, "other", s.TargetsFor(Server)[0].CheckerName())
}

func TestSumsAreLowerCaseAndWhole(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	require.True(t, isSHA256(sum))
	for _, text := range []string{"", sum[1:], sum + "0", strings.ToUpper(sum), "g" + sum[1:]} {
		require.False(t, isSHA256(text), text)
	}
}

func TestTargetsInWords(t *testing.T) {
	require.Equal(t, "at least 4.5 (0.9 x 5), at most 5.5 (1.1 x 5), only if it is printed",
		Target{Min: 4.5, Max: 5.5, LowFactor: .9, HighFactor: 1.1, Reference: 5, Optional: true}.String())
	require.Equal(t, "at least 4.5", Target{Min: 4.5}.String())
	require.Empty(t, Target{}.String())
}

func TestCountsInWords(t *testing.T) {
	require.Equal(t, "not fixed", count(0))
	require.Equal(t, "13368", count(13368))
	require.Equal(t, "none", firstToken(NoBOS))
	require.Equal(t, "0", firstToken(0))
	require.Equal(t, "none", list(nil))
	require.Equal(t, "a, b", list([]string{"a", "b"}))
}
