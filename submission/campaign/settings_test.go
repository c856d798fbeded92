package campaign

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
)

// counting defines which settings of each heading change the result of a step: all or none, with exceptions.
var counting = map[string]struct {
	all    bool
	except []string
}{
	"Test": {true, []string{"model", "scenario", "mode", "rehearsal", "user-conf", "audit-config", "score", "tokenizer",
		"tokenizer-revision", "fetch-tokenizer", "run-code", "code-tests", "code-service", "math-grader", "enable-trace"}},
	"Server": {true, []string{"endpoint", "api-key", "api-key-file", "ca-file", "client-cert", "client-key",
		"insecure-skip-verify"}},
	"Local servers": {},
	"Data set":      {true, []string{"dataset", "dataset-config", "request-memory"}},
	"Load (written to the generated user.conf)": {all: true},
	"Limits and deadlines":                      {false, []string{"endpoint-timeout"}},
	"Requests": {true, []string{"generation-config", "accuracy-max-tokens", "accuracy-min-tokens",
		"accuracy-temperature", "accuracy-top-p", "accuracy-top-k", "accuracy-seed", "preflight-query"}},
	"Client":    {all: true},
	"Output":    {},
	"Old names": {},
}

// Each setting of a run changes that setting of a step alone, or none, whatever its value.
func TestSettingsThatCount(t *testing.T) {
	only := map[string][]models.Scenario{"ttft-limit": {models.Server}, "tpot-limit": {models.Server},
		"server-coalesce-queries": {models.Server}, "concurrency": {models.Offline},
		"expected-latency": {models.SingleStream}}
	for _, scenario := range []models.Scenario{models.Offline, models.Server, models.SingleStream} {
		for _, row := range config.RunSettings() {
			group, ok := counting[row.Group]
			require.True(t, ok, row.Group)
			want := group.all != slices.Contains(group.except, row.Name)
			if among, some := only[row.Name]; some && !slices.Contains(among, scenario) {
				want = false
			}
			c := config.New(config.RunSettings())
			before := of(c, scenario)
			values := otherValues(c, &row)
			require.NotEmpty(t, values, row.Name)
			for _, text := range values {
				require.NoError(t, c.Set(row.Name, text, config.Origin{Layer: config.FromFlag}), row.Name)
				got := changes(before, of(c, scenario))
				if !want {
					require.Empty(t, got, "%s in %s", row.Name, scenario)
					continue
				}
				require.Equal(t, []Change{{row.Name, before[row.Name], c.Text(row.Name)}}, got)
				require.NotEqual(t, before.Hash(), of(c, scenario).Hash(), row.Name)
			}
		}
	}
}

// otherValues returns texts that a setting accepts and that differ from its value.
func otherValues(c *config.Effective, row *config.Setting) []string {
	texts := map[config.Kind][]string{config.String: {"one", "two"}, config.Strings: {"http://a", "http://b"},
		config.Int: {"3", "5"}, config.Float: {"0.25", "0.5"}, config.Duration: {"7us", "9us"},
		config.Bool: {"true", "false"}, config.Bytes: {"3MiB", "5MiB"}, config.Enum: row.Enum}[row.Kind]
	return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == c.Text(row.Name) })
}

// A value that leaves a choice to the run is equal to an unset one.
func TestAutoIsNoSetting(t *testing.T) {
	c := config.New(config.RunSettings())
	require.NoError(t, c.Set("backend", "sglang", config.Origin{Layer: config.FromFile}))
	was := of(c, models.Offline)
	require.Equal(t, "sglang", was["backend"])
	require.NoError(t, c.Set("backend", config.Auto, config.Origin{Layer: config.FromFlag}))
	require.NotContains(t, of(c, models.Offline), "backend")
}

// The number of endpoints counts, but not their addresses. Without endpoints the run starts one.
func TestEndpointsByNumber(t *testing.T) {
	number := func(list string) int {
		c := config.New(config.RunSettings())
		if list != "" {
			require.NoError(t, c.Set("endpoint", list, config.Origin{Layer: config.FromFlag}))
		}
		n, err := strconv.Atoi(of(c, models.Server)["endpoints"])
		require.NoError(t, err)
		return n
	}
	for list, want := range map[string]int{"": 1, "http://a": 1, "http://z:1": 1, "http://a,http://b": 2,
		"http://a,http://b,http://c": 3} {
		require.Equal(t, want, number(list), list)
	}
}

// A plan without a measured setting equals a run that measured it. Other settings must be the same in both.
func TestChangesOfMeasuredSettings(t *testing.T) {
	measurable := []string{"expected-latency", "target-qps", "backend", "api"}
	for _, name := range append(measurable, "max-tokens", KeyAudit, keyEndpoints, keyDataset) {
		with, without := Settings{"retries": "0", name: "1"}, Settings{"retries": "0"}
		require.Empty(t, changes(with, with), name)
		gone := []Change{{name, "1", ""}}
		if slices.Contains(measurable, name) {
			gone = nil
		}
		require.Equal(t, gone, changes(with, without), name)
		came := []Change{{name, "", "1"}}
		if name == KeyAudit {
			came = nil
		}
		require.Equal(t, came, changes(without, with), name)
		other := Settings{"retries": "0", name: "2"}
		require.Equal(t, []Change{{name, "1", "2"}}, changes(with, other), name)
		require.NotEqual(t, with.Hash(), other.Hash(), name)
	}
	require.Equal(t, "a was 1 and is not set; b was not set and is 2",
		sentence(changes(Settings{"a": "1"}, Settings{"b": "2"})))
}
