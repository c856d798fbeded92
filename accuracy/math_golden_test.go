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
		require.Equal(t, c.NormalGiven, mathNormal(c.Given))
		require.Equal(t, c.NormalTruth, mathNormal(c.Truth))
		require.Equal(t, c.PlainGiven, mathPlain(c.Given))
		require.Equal(t, c.PlainTruth, mathPlain(c.Truth))
		equal, _ := mathEqual(c.Given, c.Truth)
		require.Equal(t, c.Correct, equal, "%q and %q", c.Given, c.Truth)
	})
}

// Each line has two answers and whether they are equal. The built-in comparison decides all of them.
func TestMathFallback(t *testing.T) {
	for _, c := range []struct {
		given, truth string
		equal        bool
	}{
		{`2x(x-1)`, `2x^2-2x`, true},
		{`\frac{\sqrt{2}}{2}`, `\frac{1}{\sqrt{2}}`, true},
		{`\sqrt{x^2}`, `x`, false},
		{`x^2-y^2`, `(x-y)(x+y)`, true},
		{`(1,x+1)`, `(1,1+x)`, true},
		// With brackets inside, the reference does not treat the text as a tuple, and its subtraction fails.
		{`(1,\sqrt{8})`, `(1,2\sqrt{2})`, false},
		{`x+1`, `x+2`, false},
		{`2\pi r`, `\pi r2`, false}, // the reference treats three letters in a row as text
		{`9^9^9`, `x`, false},
		{`1/(x-x)`, `x`, false},
	} {
		equal, _ := mathEqual(c.given, c.truth)
		require.Equal(t, c.equal, equal, "%s and %s", c.given, c.truth)
	}
	_, fallback := mathEqual("x+1", "1+x")
	require.True(t, fallback)
	_, fallback = mathEqual("0.50", `\frac12`)
	require.False(t, fallback)
}
