package accuracy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoldenMath500Grader(t *testing.T) {
	type gradeCase struct {
		Given       string
		Truth       string `json:"ground_truth"`
		Correct     bool
		NormalGiven string `json:"mathd_given"`
		NormalTruth string `json:"mathd_truth"`
		PlainGiven  string `json:"norm_given"`
		PlainTruth  string `json:"norm_truth"`
	}
	eachCase(t, "math500_grader", func(t *testing.T, c gradeCase) {
		require.Equal(t, c.NormalGiven, MathNormal(c.Given))
		require.Equal(t, c.NormalTruth, MathNormal(c.Truth))
		require.Equal(t, c.PlainGiven, MathPlain(c.Given))
		require.Equal(t, c.PlainTruth, MathPlain(c.Truth))
		equal, _ := MathEqual(c.Given, c.Truth)
		require.Equal(t, c.Correct, equal, "%q and %q", c.Given, c.Truth)
	})
}
