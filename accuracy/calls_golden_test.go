package accuracy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

func TestGoldenBFCLv4(t *testing.T) {
	type callCase struct {
		Kind, ID, Subset, Mutation string
		Descriptions               json.RawMessage `json:"func_description"`
		Truth                      json.RawMessage `json:"ground_truth"`
		Output                     json.RawMessage `json:"model_output"`
		Valid                      bool
		ErrorType                  string `json:"error_type"`
		Counts                     map[string][2]int
		Overall                    json.Number            `json:"overall_accuracy"`
		Normalized                 json.Number            `json:"normalized_single_turn_score"`
		Categories                 map[string]json.Number `json:"category_scores"`
		Subsets                    map[string]json.Number `json:"subset_scores"`
		Text, Result               string
		Native                     bool `json:"native_tool_calls"`
	}
	rounded := func(v float64) json.Number {
		return json.Number(pyrepr.Float(pyRound(v*100, 2)))
	}
	all := func(in map[string]float64) map[string]json.Number {
		out := map[string]json.Number{}
		for k, v := range in {
			out[k] = rounded(v)
		}
		return out
	}
	eachCase(t, "bfcl_v4", func(t *testing.T, c callCase) {
		switch c.Kind {
		case "ast":
			v, err := checkCallsJSON(c.Subset, string(c.Descriptions), string(c.Output), string(c.Truth))
			require.NoError(t, err)
			require.Equal(t, callVerdict{c.Valid, c.ErrorType}, v, "%s %s", c.ID, c.Mutation)
		case "aggregate":
			counts := map[string]correctCount{}
			for name, n := range c.Counts {
				counts[name] = correctCount{n[0], n[1]}
			}
			got := totalCalls(counts)
			require.Equal(t, c.Overall, rounded(got.Overall))
			require.Equal(t, c.Normalized, rounded(got.Normalized))
			require.Equal(t, c.Categories, all(got.Categories))
			require.Equal(t, c.Subsets, all(got.Subsets))
		case "extract_calls":
			calls, native := callsJSON(c.Text)
			require.Equal(t, c.Result, calls)
			require.Equal(t, c.Native, native)
		default:
			t.Fatalf("kind %q", c.Kind)
		}
	})
}
