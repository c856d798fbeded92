package accuracy

import (
	"context"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeclarationsAreNoCalls(t *testing.T) {
	for args, want := range map[string]bool{"": true, "a": true, "a, b": true, "a: int": true, "a:int, b : str": true,
		"a,": true, ",": true, "a: 'x'": false, "a: list[int]": false, "a: ": false, "1": false, "a b": false, "a=1": false,
		"'a'": false, "_a": true, "é": false, "a1": true, "1a": false, "a, 1": false, "a-b": false} {
		require.Equal(t, want, looksDeclared(args), args)
	}
	for word, want := range map[string]bool{"a": true, "1": true, "": false, "a b": false, "-a": false, "a-": false,
		"a.b": false, "_": true, "é": true} {
		require.Equal(t, want, wordOnly(word), word)
	}
}

// Objects of JavaScript with values of each kind, nested, and with commas in lists. Python's re finds the same pairs
// with the expression of the reference.
func TestObjectsOfJavaScript(t *testing.T) {
	for code, want := range map[string]string{
		`{a: 1}`:               `{"a": 1}`,
		`{a: [1, 2], b: true}`: `{"a": [1, 2], "b": true}`,
		`{'a': 'x', "b": 1.5}`: `{"a": "x", "b": 1.5}`,
		`{a: {b: 1}`:           `{"a": "{b: 1"}`,
		`{a: [], b: x}`:        `{"a": [], "b": "x"}`,
		`{}`:                   `{}`,
		`{a}`:                  `{}`,
		`{: 1}`:                `{}`,
		`{a: 1, b}`:            `{"a": "1, b"}`,
		`a`:                    `"a"`,
	} {
		var b strings.Builder
		pyDump(&b, scriptObject(code, 0))
		require.Equal(t, want, b.String(), code)
	}
	require.Equal(t, `{a: 1}`, scriptObject(`{a: 1}`, maxNesting+1))
	require.IsType(t, newObject(), scriptObject(`{a: 1}`, maxNesting))
	for s, want := range map[string]string{"": "", "a": "", "ab": "", "abc": "b", "éaé": "a"} {
		require.Equal(t, want, inner(s), s)
	}
}

// Tuples and intervals are equal only with the same brackets, at either end, and with the same number of parts.
func TestBracketsOfTuples(t *testing.T) {
	for _, c := range []struct {
		given, truth string
		equal        bool
	}{
		{"(1,2)", "(1,2)", true}, {"(1,2)", "(1, 2)", true}, {"[1,2)", "(1,2)", false}, {"(1,2]", "(1,2)", false},
		{"[1,2]", "[1,2]", true}, {"(1,2,3)", "(1,2)", false}, {"(1,3)", "(1,2)", false}, {"(2,2)", "(1,2)", false},
		{"(1,2)", "(1,2,3)", false}, {"", "(1,2)", false}, {"1", "(1,2)", false},
	} {
		equal, fallback := mathEqual(c.given, c.truth)
		require.Equal(t, []bool{c.equal, false}, []bool{equal, fallback}, c)
	}
	equal, _, err := gradeMath(context.Background(), nil, "", "")
	require.NoError(t, err)
	require.True(t, equal)
}

// The highest code point of a Python literal, and the one after it.
func TestHighestCharacterOfALiteral(t *testing.T) {
	v, ok := pythonLiteral(`'\U0010ffff'`)
	require.True(t, ok)
	require.Equal(t, "\U0010ffff", v)
	_, ok = pythonLiteral(`'\U00110000'`)
	require.False(t, ok)
}

func TestWhatMayBeAnExpression(t *testing.T) {
	for expr, want := range map[string]bool{"": false, "a": true, "a=1": false, "f(a=1)": true, "[a=1]": true,
		"{a=1}":  true,
		"f(a)=1": false, "a==b": true, "a<=b": true, "a>=b": true, "a!=b": true, "'='": true, `"="`: true, "'=": false,
		"x:": false, `x\`: false, ":x": true, "'a'=1": false, `'"'="`: false} {
		require.Equal(t, want, plausible(expr), expr)
	}
}

// The letter that is announced last.
func TestAnnouncedChoices(t *testing.T) {
	for text, want := range map[string]string{"ANSWER: B": "B", "answer b": "B", "Final Answer (C)": "C",
		"final  answer: D": "D", "final (B)": "", "final B": "", "answer: A, answer: B": "B", "answers: B": "",
		"xanswer: B": "", "answer: E": "", "answer: BC": "", "answer: (A)": "A", "answer:= A": "", "answer= A": "A", "": "",
		"final": "", "answer": "", "final answer": ""} {
		choice, found := announced(text, 'D')
		require.Equal(t, []any{want, want != ""}, []any{choice, found}, text)
	}
}

func TestPowersOfNumbers(t *testing.T) {
	rat := func(text string) *big.Rat {
		r, ok := new(big.Rat).SetString(text)
		require.True(t, ok)
		return r
	}
	for _, c := range []struct{ a, b, want string }{{"2", "3", "8"}, {"2", "-2", "1/4"}, {"2", "64",
		"18446744073709551616"},
		{"2", "-64", "1/18446744073709551616"}, {"2", "65", ""}, {"2", "-65", ""}, {"4", "1/2", ""}, {"0", "-1", ""},
		{"0", "0", "1"}, {"0", "2", "0"}, {"2", "18446744073709551616", ""}, {"2", "-18446744073709551616", ""},
		{"-1/2", "3", "-1/8"}} {
		got, ok := rationalPower(rat(c.a), rat(c.b))
		require.Equal(t, c.want != "", ok, c)
		if ok {
			require.Zero(t, rat(c.want).Cmp(got), c)
		}
	}
}

func TestSubsetsWithoutSamples(t *testing.T) {
	totals := totalCalls(map[string]correctCount{"simple_python": {}, "simple_java": {Correct: 1, Total: 2}})
	require.Equal(t, map[string]float64{"simple_java": 0.5}, totals.Subsets)
}

func TestOptionsOfLatex(t *testing.T) {
	for s, want := range map[string]int{"[3]x": 3, "[]": 2, "[3x": 0, "x[3]": 0, "": 0} {
		l := &latex{s: s}
		l.option()
		require.Equal(t, want, l.at, s)
	}
}

// A fault at any depth of a JSON text is an error.
func TestFaultsOfJSON(t *testing.T) {
	for _, text := range []string{"", "{", "[", `{"a"`, `{"a":`, `{"a": x}`, `{"a": {"b": x}}`, `{"a": [1, x]}`,
		`[1, [x]]`,
		`[{"a": }]`, `{"a": 1,}`, `[1,]`, `{"a": 1} x`, `{1: 2}`, `{"a": 1`, `[1`} {
		_, err := parseJSON(text)
		require.Error(t, err, text)
	}
	for _, text := range []string{"{}", "[]", `{"a": [1, {"b": null}]}`, "1", `"x"`} {
		_, err := parseJSON(text)
		require.NoError(t, err, text)
	}
}

// Each figure of the catalogue from the samples that have it.
func TestFiguresOfTheCatalogue(t *testing.T) {
	nan := math.NaN()
	of := func(common, predicted, truth, brand, second, want, valid float64) SampleScore {
		return SampleScore{Scores: []float64{common, predicted, truth, brand, second, want, valid}}
	}
	metrics := catalogueMetrics(&tally{scores: []SampleScore{of(2, 2, 2, 1, 1, 1, 1), of(0, 0, 2, 0, nan, nan, 0),
		of(1, 2, 2, nan, 0, 1, 1)}})
	found := map[string]float64{}
	for _, m := range metrics {
		found[m.Name] = m.Value
	}
	require.Len(t, found, 4)
	for name, want := range map[string]float64{"f1": 0.6, "invalid_answers": 1, "brand": 0.5,
		"is_secondhand": secondhandF1([]bool{true, false}, []bool{true, true})} {
		require.InDelta(t, want, found[name], 1e-9, name)
	}
	require.Len(t, catalogueMetrics(&tally{scores: []SampleScore{of(1, 1, 1, nan, nan, nan, 1)}}), 2)
}

// LaTeX may end within a command or a group. The expected texts are those of pylatexenc 2.10, with π and √ as words.
func TestLatexThatEndsEarly(t *testing.T) {
	for source, want := range map[string]string{
		"": "", `\`: "", `\pi`: "pi", `\pi  `: "pi", `2\pi`: "2pi", `\sqrt{`: "sqrt()", `\sqrt{2`: "sqrt(2)",
		`{\sqrt}`: "sqrt()", `\sqrt}2`: "sqrt()2", `\frac{1} {2}`: "1/2", `\frac{1}{2`: "1/2",
		`x\frac{1}{`: "x 1/", `{\frac1}2`: "1/2", `\frac}`: "/", `\sqrt{\frac}`: "sqrt( /)", `\mathbf{`: "",
		`\text`: "", `{\mathbf}a`: "a", `{`: "", `{{a`: "a", `}a`: "a",
	} {
		require.Equal(t, want, latexText(source), source)
	}
}

// The data set names the expected calls as a list, and no calls as an empty text, list or object, or null. Anything
// else is a fault of the data set, and no verdict on an answer.
func TestExpectedCallsOfADataSet(t *testing.T) {
	call := []any{newObject()}
	for _, c := range []struct {
		target, functions string
		extracted         []any
		verdict, err      string
	}{
		{`[]`, ``, nil, "", ""}, {`{}`, ``, nil, "", ""}, {`""`, ``, nil, "", ""}, {`null`, ``, nil, "", ""},
		{`[]`, ``, call, "unexpected_call", ""}, {`{}`, ``, call, "unexpected_call", ""},
		{`""`, ``, call, "unexpected_call", ""}, {`null`, ``, call, "unexpected_call", ""},
		{`{`, `[]`, nil, "", "invalid expected calls"}, {`{"a": 1}`, `[]`, nil, "", "a dict instead of a list"},
		{`"a"`, `[]`, nil, "", "a str instead of a list"}, {`7`, `[]`, nil, "", "instead of a list"},
		{`[{"f": {}}]`, `{}`, nil, "", "not a JSON list"}, {`[{"f": {}}]`, `[`, nil, "", "not a JSON list"},
	} {
		v, err := compareCalls(&Reference{Target: c.target, Function: c.functions}, c.extracted)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
		require.Equal(t, callVerdict{c.verdict == "", c.verdict}, v, "%+v", c)
	}
}
