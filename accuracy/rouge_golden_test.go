package accuracy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoldenPorter(t *testing.T) {
	type porterCase struct{ Word, Stem string }
	eachCase(t, "porter", func(t *testing.T, c porterCase) { require.Equal(t, c.Stem, porterStem(c.Word), c.Word) })
}

func TestGoldenRouge(t *testing.T) {
	type rougeCase struct {
		Name, Reference, Prediction string
		Scores                      map[string]rougeScores
		ReferenceTokens             []string `json:"reference_tokens_stemmed"`
		PredictionTokens            []string `json:"prediction_tokens_stemmed"`
	}
	stemmer, plain := newRouge(true), newRouge(false)
	eachCase(t, "rouge", func(t *testing.T, c rougeCase) {
		for mode, r := range map[string]*rougeScorer{"stem": stemmer, "nostem": plain} {
			want, got := c.Scores[mode], r.Score(c.Reference, c.Prediction)
			for _, m := range []struct {
				name      string
				want, got rougeScore
			}{{"rouge1", want.Rouge1, got.Rouge1}, {"rouge2", want.Rouge2, got.Rouge2}, {"rougeL", want.RougeL, got.RougeL},
				{"rougeLsum", want.RougeLsum, got.RougeLsum}} {
				near(t, m.want.P, m.got.P, c.Name+" "+mode+" "+m.name+" P")
				near(t, m.want.R, m.got.R, c.Name+" "+mode+" "+m.name+" R")
				near(t, m.want.F, m.got.F, c.Name+" "+mode+" "+m.name+" F")
			}
			near(t, want.RougeL.F, r.RougeL(c.Reference, c.Prediction).F, c.Name+" RougeL")
		}
		if c.ReferenceTokens != nil {
			require.ElementsMatch(t, c.ReferenceTokens, rougeTokens(c.Reference, true))
		}
		if c.PredictionTokens != nil {
			require.ElementsMatch(t, c.PredictionTokens, rougeTokens(c.Prediction, true))
		}
	})
}
