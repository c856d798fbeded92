package plan

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// Every sampling setting of every row and mode reaches the test's configuration, and no other.
func TestEveryRowsSamplingIsTheDefault(t *testing.T) {
	seen := map[string]int{}
	for _, row := range models.Rows() {
		if row.Name == models.Generic {
			continue
		}
		for _, mode := range []models.Mode{models.Performance, models.Accuracy} {
			settings := Settings{"model": row.Name, "mode": string(mode), "endpoint": "http://a:1", "dataset": "file",
				"scenario": string(row.Scenarios[0].Scenario)}
			p := planned(t, 10, settings)
			sampling := row.Sampling[mode]
			want := map[string]string{}
			if sampling.MaxTokens > 0 {
				want["max-tokens"] = strconv.Itoa(sampling.MaxTokens)
			}
			if sampling.Seed != nil {
				want["seed"] = strconv.FormatInt(*sampling.Seed, 10)
			}
			if sampling.TopK != nil {
				want["top-k"] = strconv.Itoa(*sampling.TopK)
			}
			for name, value := range want {
				require.Equal(t, value, p.Config.Text(name), "%s, %s, %s", row.Name, mode, name)
				seen[name]++
			}
			for name, has := range map[string]bool{"seed": sampling.Seed != nil, "top-k": sampling.TopK != nil} {
				require.Equal(t, has, p.Config.IsSet(name), "%s, %s, %s", row.Name, mode, name)
			}
		}
	}
	for _, name := range []string{"seed", "top-k", "max-tokens"} {
		require.Positive(t, seen[name], "no row has one")
	}
}

// Without entries in mlperf.conf, the token limits and the limit of LoadGen itself are switched off.
func TestKeysOfAnUnknownModel(t *testing.T) {
	require.Equal(t, "0", latencyKey(0).Text)
	l := planned(t, 10, real8b("Server"))
	keys := l.unknownModelKeys(nil)
	require.Len(t, keys, 4)
	require.Equal(t, latencyKey(0), keys[3])
	keys = l.unknownModelKeys(keys[:2])
	require.Len(t, keys, 3, "a key that is there is not repeated")
	require.Len(t, planned(t, 10, real8b("Offline")).unknownModelKeys(nil), 1)
}
