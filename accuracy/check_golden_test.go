package accuracy

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/stretchr/testify/require"
)

func TestGoldenAccuracyTxt(t *testing.T) {
	type textCase struct {
		Version, Model, Scenario, Division string
		Lines                              []string
		Valid                              bool
		Metrics                            map[string]string
	}
	eachCase(t, "accuracy_txt", func(t *testing.T, c textCase) {
		b, err := Find(c.Model)
		require.NoError(t, err)
		got, err := CheckText(strings.NewReader(strings.Join(c.Lines, "\n")), b.TargetsFor(models.Scenario(c.Scenario)),
			c.Division == "open")
		require.NoError(t, err)
		require.Equal(t, c.Valid, got.Valid, "%v", got.Why)
		require.Equal(t, c.Metrics, got.Values)
	})
}

func TestGoldenQwen3VL(t *testing.T) {
	type catalogueCase struct {
		Kind, Pred, True, Response, File string
		Result                           [3]int
		Pairs                            [][2]any
		F1, Ratio, Score                 float64
		Match                            int
		Valid                            bool
	}
	texts := func(pairs [][2]any, fn func(pred, truth string)) {
		for _, p := range pairs {
			fn(p[0].(string), p[1].(string))
		}
	}
	kinds := map[string]func(t *testing.T, c catalogueCase){
		"hier_components": func(t *testing.T, c catalogueCase) {
			common, predicted, truth := pathLevels(c.Pred, c.True)
			require.Equal(t, c.Result, [3]int{common, predicted, truth})
		},
		"hier_f1": func(t *testing.T, c catalogueCase) {
			var sum [3]int
			texts(c.Pairs, func(pred, truth string) {
				a, b, d := pathLevels(pred, truth)
				sum = [3]int{sum[0] + a, sum[1] + b, sum[2] + d}
			})
			near(t, c.F1, hierarchicalF1(sum[0], sum[1], sum[2]), "f1")
		},
		"brand_ratio": func(t *testing.T, c catalogueCase) {
			near(t, c.Ratio, brandRatio(c.Pred, c.True), "ratio")
			require.Equal(t, c.Match == 1, brandMatch(c.Pred, c.True))
		},
		"brand_score": func(t *testing.T, c catalogueCase) {
			matches := 0.0
			texts(c.Pairs, func(pred, truth string) { matches += number01(brandMatch(pred, truth)) })
			near(t, c.Score, matches/float64(len(c.Pairs)), "score")
		},
		"secondhand_f1": func(t *testing.T, c catalogueCase) {
			var pred, truth []bool
			for _, p := range c.Pairs {
				pred, truth = append(pred, p[0].(bool)), append(truth, p[1].(bool))
			}
			near(t, c.F1, secondhandF1(pred, truth), "f1")
		},
		"response_valid": func(t *testing.T, c catalogueCase) {
			_, err := parseProduct(c.Response)
			require.Equal(t, c.Valid, err == nil, "%q: %v", c.Response, err)
		},
		"accuracy_txt": func(t *testing.T, c catalogueCase) {
			require.Equal(t, c.File, "Results\n\n"+catalogueLine(c.F1))
		},
	}
	eachCase(t, "qwen3_vl", func(t *testing.T, c catalogueCase) {
		require.Contains(t, kinds, c.Kind)
		kinds[c.Kind](t, c)
	})
}
