package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
)

func TestPrefixKeys(t *testing.T) {
	keys := prefixKeys([]datasets.Sample{
		{InputIDs: []int32{1, 2, 3, 4}}, {InputIDs: []int32{1, 2, 3, 9, 9}}, {InputIDs: []int32{1, 2, 3}}, // begin alike
		{InputIDs: []int32{1, 2, 4}}, {InputIDs: []int32{1, 2}}, {InputIDs: []int32{256, 2, 3}},
		{Input: "twelve bytes, and more"}, {Input: "twelve bytes"}, {Input: "twelve byte"},
		{Messages: []byte(`[{"role":"a"}]`)}, {Messages: []byte(`[{"role":"a"},{}]`)}, {Messages: []byte(`[{"rule":"a"}]`)},
	}, 3)
	for _, alike := range [][]int{{0, 1, 2}, {6, 7}, {9, 10}} {
		for _, i := range alike[1:] {
			require.Equal(t, keys[alike[0]], keys[i], i)
		}
	}
	seen := map[uint64]int{}
	for i, key := range keys {
		seen[key] = i
	}
	require.Len(t, seen, len(keys)-4, "all others differ")
}

func TestSessionKeys(t *testing.T) {
	keys, err := sessionKeys([]datasets.Sample{{Session: "a"}, {Session: "b"}, {Session: "a"}})
	require.NoError(t, err)
	require.Equal(t, keys[0], keys[2])
	require.NotEqual(t, keys[0], keys[1])
	_, err = sessionKeys([]datasets.Sample{{Session: "a"}, {}})
	require.ErrorContains(t, err, "row 2 of the data set has none")
}

func TestFindKeys(t *testing.T) {
	for _, c := range []struct {
		settings Settings
		samples  []datasets.Sample
		keys     int
		note     string
	}{
		{Settings{}, make([]datasets.Sample, 2), 0, ""},
		{Settings{"lb": "hash"}, make([]datasets.Sample, 2), 0, ""},
		{Settings{"lb": "hash", "lb-key": "prefix", "lb-prefix-tokens": "1"},
			[]datasets.Sample{{InputIDs: []int32{1, 2}}, {InputIDs: []int32{3, 2}}}, 2, ""},
		{Settings{"lb": "hash", "lb-key": "prefix", "lb-prefix-tokens": "1"},
			[]datasets.Sample{{InputIDs: []int32{1, 2}}, {InputIDs: []int32{1, 3}}}, 2,
			"--lb-key prefix: all 2 samples have the same key, so one of the endpoints gets them all"},
		{Settings{"lb": "hash", "lb-key": "session"}, []datasets.Sample{{Session: "1"}, {Session: "2"}, {Session: "2"}}, 3,
			""},
	} {
		c.settings["model"] = "generic"
		p, err := newPlan(c.settings)
		require.NoError(t, err)
		tt := newTest(p, nil, "")
		tt.dataset = &datasets.Dataset{Samples: c.samples}
		tt.config = &backends.Config{Endpoints: make([]backends.Endpoint, 2)}
		require.NoError(t, tt.findKeys())
		require.Len(t, tt.keys, c.keys)
		require.Equal(t, c.note, strings.Join(tt.notes, "\n"))
	}
	p, err := newPlan(Settings{"model": "generic", "lb": "hash", "lb-key": "session"})
	require.NoError(t, err)
	tt := newTest(p, nil, "")
	tt.dataset = &datasets.Dataset{Samples: make([]datasets.Sample, 1)}
	err = tt.findKeys()
	require.EqualValues(t, "lb_key", Classify(err).Code)
	require.Equal(t, ExitUsage, Classify(err).Exit)
}

func TestSettingsThatTheBalanceIgnores(t *testing.T) {
	for text, s := range map[string]Settings{
		"--lb-key does nothing with --lb round-robin":                           {"lb-key": "prefix"},
		"--lb-prefix-tokens does nothing without --lb hash and --lb-key prefix": {"lb": "hash", "lb-prefix-tokens": "9"},
		"--session-column does nothing without --lb hash and --lb-key session":  {"lb": "hash", "session-column": "c"},
		"": {"lb": "hash", "lb-key": "prefix", "lb-prefix-tokens": "9"},
	} {
		s["model"] = "generic"
		p, err := newPlan(s)
		require.NoError(t, err)
		if text == "" {
			require.Empty(t, p.Notices())
			continue
		}
		require.Contains(t, strings.Join(p.Notices(), "\n"), text)
	}
}

// Samples of one session, or with one beginning, go to one endpoint, whichever shard sends them and in whatever order.
func TestAffinity(t *testing.T) {
	program(t)
	const rows, groups = 48, 12
	var set strings.Builder
	for i := range rows {
		group := i % groups
		fmt.Fprintf(&set, "{\"tok_input\":[%d,8,%d,%d],\"conversation\":\"c%d\",\"turn\":%d}\n", 101+2*group, group, i,
			group/2, i)
	}
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(set.String()), 0o644))
	urls := fleet(t, 3, func(_ int, x *call) { x.good() })
	for _, c := range []struct {
		args  []string
		group func(row int) int
	}{
		{[]string{"--lb-key", "prefix", "--lb-prefix-tokens", "3"}, func(row int) int { return row % groups }},
		{[]string{"--lb-key", "session", "--session-column", "conversation"}, func(row int) int { return row % groups / 2 }},
		{[]string{"--lb-key", "session", "--session-column", "turn", "--shards", "2"}, func(row int) int { return row }},
		{nil, func(row int) int { return row }},
	} {
		for _, scenario := range []string{"Server", "Offline"} {
			args := append([]string{"--model", "generic", "--scenario", scenario, "--backend", "vllm", "--target-qps", "300",
				"--served-model", "m", "--dataset", path,
				"--endpoint", strings.Join(urls, ","), "--min-queries", "120", "--min-duration", "0", "--max-tokens", "4",
				"--no-preflight-query", "--lb", "hash"}, c.args...)
			r := start(t, args...)
			require.Zero(t, r.Samples.Failed, r.Samples.FailedByReason)
			home, used := map[int]int16{}, map[int16]bool{}
			for _, e := range requestsOf(t, r).Entries {
				group := c.group(int(e.Index))
				if known, ok := home[group]; ok {
					require.Equal(t, known, e.Endpoint, "%v: row %d", args, e.Index)
				}
				home[group], used[e.Endpoint] = e.Endpoint, true
			}
			require.Greater(t, len(used), 1, "the groups are spread")
		}
	}
}
