package accuracy

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// extractCase is a case in the extractors' files. An output of null means that the extractor finds nothing.
type extractCase struct {
	Fn, Extractor, Input string
	MaxOption            string `json:"max_option"`
	Output               any
}

// found converts an extractor's result to the recorded form.
func found[T any](v T, ok bool) any {
	if !ok {
		return nil
	}
	if n, isInt := any(v).(int); isInt {
		return json.Number(fmt.Sprint(n))
	}
	return v
}

func TestGoldenDeepseekR1Extract(t *testing.T) {
	fns := map[string]func(c extractCase) any{
		"parse_multiple_choice": func(c extractCase) any { return found(finalChoice(c.Input, c.MaxOption[0])) },
		"parse_boxed_math":      func(c extractCase) any { return found(boxedAnswer(c.Input)) },
		"parse_aime_answer":     func(c extractCase) any { return found(aimeAnswer(c.Input)) },
		"parse_code":            func(c extractCase) any { return found(pythonBlock(c.Input)) },
	}
	eachCase(t, "deepseek_r1_extract", func(t *testing.T, c extractCase) {
		require.Contains(t, fns, c.Fn)
		require.Equal(t, c.Output, fns[c.Fn](c), "%s(%q)", c.Fn, c.Input)
	})
}

func TestGoldenGptOssExtract(t *testing.T) {
	fns := map[string]func(c extractCase) any{
		"parse_multiple_choice": func(c extractCase) any { return found(harmonyChoice(c.Input, c.MaxOption[0])) },
		"parse_boxed_math":      func(c extractCase) any { return found(boxedAnswer(c.Input)) },
		"parse_aime_answer":     func(c extractCase) any { return found(aimeAnswer(c.Input)) },
		"parse_code":            func(c extractCase) any { return found(harmonyCode(c.Input)) },
		"extract_final_section": func(c extractCase) any { return finalSection(c.Input) },
	}
	eachCase(t, "gpt_oss_extract", func(t *testing.T, c extractCase) {
		require.Contains(t, fns, c.Fn)
		require.Equal(t, c.Output, fns[c.Fn](c), "%s(%q)", c.Fn, c.Input)
	})
}

func TestGoldenGptOssScore(t *testing.T) {
	type scoreCase struct {
		Stats       map[string][2]int
		FinalScore  float64 `json:"final_score"`
		MaxScore    float64 `json:"max_score"`
		Percent     float64 `json:"final_score_percentage"`
		Overall     float64 `json:"overall_accuracy"`
		CheckerLine string  `json:"checker_line"`
	}
	eachCase(t, "gpt_oss_score", func(t *testing.T, c scoreCase) {
		sets := map[string]correctCount{}
		for name, n := range c.Stats {
			sets[name] = correctCount{n[0], n[1]}
		}
		got := weightedScore(sets)
		near(t, c.FinalScore, got.Score, "score")
		near(t, c.MaxScore, got.Max, "max")
		near(t, c.Percent, got.Percent, "percent")
		near(t, c.Overall, got.Plain, "overall")
		require.Equal(t, c.CheckerLine, "'exact_match': "+got.text())
	})
}

func TestGoldenMixtral(t *testing.T) {
	type mixtralCase struct {
		Kind, Text, Extracted    string
		GroundTruth              string `json:"ground_truth"`
		Correct                  bool
		Lang, Response, Solution string
		Dataset                  string
		Tokens, Out              []int32
	}
	eachCase(t, "mixtral", func(t *testing.T, c mixtralCase) {
		switch c.Kind {
		case "gsm8k":
			require.Equal(t, c.Extracted, gsm8kNumber(c.Text))
			require.Equal(t, c.Correct, gsm8kCorrect(gsm8kNumber(c.Text), c.GroundTruth))
		case "mbxp_postprocess":
			require.Equal(t, c.Solution, mbxpSolution(c.Lang, c.Response))
		case "token_trim": // skipped: the case has token ids, but this program scores texts
		default:
			t.Fatalf("kind %q", c.Kind)
		}
	})
}

func TestGoldenLlama405bMetrics(t *testing.T) {
	type row struct{ Metric, Label, Pred string }
	type metricCase struct {
		row
		Result    map[string]float64
		Aggregate []row
		Mean      map[string]float64
	}
	eachCase(t, "llama405b_metrics", func(t *testing.T, c metricCase) {
		if c.Aggregate == nil {
			c.Aggregate, c.Mean = []row{c.row}, c.Result
		}
		var scores []longScore
		for _, r := range c.Aggregate {
			s, err := scoreLong(r.Metric, r.Label, r.Pred)
			require.NoError(t, err)
			scores = append(scores, s)
		}
		got := longContextMeans(scores)
		require.Len(t, got, len(c.Mean))
		for _, m := range got {
			require.Contains(t, c.Mean, m.Name)
			near(t, c.Mean[m.Name], m.Value, m.Name)
		}
	})
}
