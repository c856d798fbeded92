package accuracy

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// A letter has a form of its own in every alphabet, and any other character stays as it is.
func TestLettersInLatexAlphabets(t *testing.T) {
	for name, a := range latexAlphabets {
		seen := map[rune]rune{}
		for r := rune(0); r < 0x250; r++ {
			styled := a.styled(r)
			if letter := r < 0x80 && unicode.IsLetter(r); !letter {
				require.Equal(t, r, styled, "%s of %q", name, r)
				continue
			}
			require.NotContains(t, seen, styled, "%s of %q", name, r)
			seen[styled] = r
			require.True(t, unicode.IsLetter(styled) && styled >= 0x2100, "%s of %q is %q", name, r, styled)
			if styled >= 0x1d400 { // Unicode's alphabets follow each other, capitals first
				place := map[bool]rune{true: r - 'A', false: 26 + r - 'a'}[unicode.IsUpper(r)]
				require.Equal(t, place, (styled-0x1d400)%52, "%s of %q", name, r)
			}
		}
		require.Len(t, seen, 52, name)
	}
}

// A literal that breaks off at any place is not a literal.
func TestBrokenLiterals(t *testing.T) {
	for _, whole := range []string{`{'a\n\x41\u00e9\101\0': [1, -2.5, (True, None)], "b": '''c'''}`, `'\7'`, `'\77'`,
		`'\777'`, `"\U0010ffff"`, `[{}, (1,)]`, `'a\'b'`} {
		_, ok := pythonLiteral(whole)
		require.True(t, ok, whole)
		for n := range len(whole) {
			_, ok := pythonLiteral(whole[:n])
			require.False(t, ok, whole[:n])
		}
	}
}

// Brackets, commas and parentheses count outside of quotes of either kind only.
func TestArgumentsInQuotes(t *testing.T) {
	for _, quote := range []string{"'", `"`} {
		other := map[string]string{"'": `"`, `"`: "'"}[quote]
		for _, inside := range []string{")", "(", ",", "]", "[", "{", "a=b", other, other + ")", "a, b=c"} {
			text := "f(x=" + quote + inside + quote + ", y=2)"
			calls := textCalls(text)
			require.Len(t, calls, 1, text)
			arguments, ok := calls[0].(*object).values["arguments"].(*object)
			require.True(t, ok, text)
			require.Equal(t, inside, arguments.values["x"], text)
			require.Contains(t, arguments.values, "y", text)
			escaped := "f(x=" + quote + `\` + quote + inside + quote + ")"
			calls = textCalls(escaped)
			require.Len(t, calls, 1, escaped)
			require.Equal(t, quote+inside, calls[0].(*object).values["arguments"].(*object).values["x"], escaped)
		}
		require.Empty(t, textCalls("f(x="+quote+")"), "the quote is never closed")
	}
}

// Blanks around arguments and their signs change nothing.
func TestBlanksAroundArguments(t *testing.T) {
	for args, want := range map[string]string{
		"a=1": `{"a": 1}`, "a=1,b=2": `{"a": 1, "b": 2}`, "1,a=2": `{"a": 2}`, "*x": `{}`, "**x": `{}`,
		"a=1,**x": `{"a": 1}`, "a=1,*x": `{"a": 1}`, "a=1,": `{"a": 1}`, "": `{}`, ",": `{"_raw"`, "a=1,2": `{"_raw"`,
		"a=1,,b=2": `{"_raw"`, "**x,1": `{"_raw"`, "a==1": `{}`, "1=a": `{"_raw"`, "a=[1,2": `{"_raw"`, "a=1]": `{"_raw"`,
		"a=(1]": `{"_raw"`, "a=f(1)": `{"a": "f(1)"}`, "a=": `{"_raw"`, "a=b=c": `{"_raw"`,
	} {
		for _, blank := range []string{"", " ", "\n", "\t "} {
			spaced := strings.NewReplacer(",", blank+","+blank, "==", "==", "=", blank+"="+blank).Replace(blank + args + blank)
			var got strings.Builder
			pyDump(&got, callArguments(pyStrip(spaced)))
			require.True(t, strings.HasPrefix(got.String(), want), "%q: %s", spaced, got.String())
		}
	}
}

// A comma separates pairs if a key and a colon follow it; a blank is a key.
func TestPairsOfObjects(t *testing.T) {
	for s, want := range map[string][2]string{
		"": {"", ""}, "1": {"1", ""}, "1,b:2": {"1", "b:2"}, "1, b:2": {"1", "b:2"}, "1,b,c:2": {"1,b", "c:2"},
		"1,:2": {"1,:2", ""}, "1, :2": {"1", " :2"}, "1,b:2,c:3": {"1", "b:2,c:3"}, ",b:2": {"", "b:2"}, "1,": {"1,", ""},
		"1,b": {"1,b", ""}, "1,  :2, c:3": {"1", " :2, c:3"}, "1,:2,c:3": {"1,:2", "c:3"}, "1,b::2": {"1", "b::2"},
		"a:b": {"a:b", ""}, "1,::2": {"1", "::2"},
	} {
		value, rest := cutPair(s)
		require.Equal(t, want, [2]string{value, rest}, "%q", s)
	}
}

// The means of each part of a data set; a set without parts has none.
func TestMeansOfParts(t *testing.T) {
	nan := math.NaN()
	of := func(part, unscored string, scores ...float64) SampleScore {
		return SampleScore{Subset: part, Unscored: unscored, Scores: scores}
	}
	part := func(name string, samples, unscored int, x, y float64) Subset {
		return Subset{name, samples, unscored, map[string]float64{"x": x, "y": y}}
	}
	for name, c := range map[string]struct {
		scores []SampleScore
		want   []Subset
	}{
		"no samples": {nil, nil},
		"no parts":   {[]SampleScore{of("", "", 1, 2), of("", "", 3, 4)}, nil},
		"one part":   {[]SampleScore{of("a", "", 1, 2), of("a", "", 3, nan)}, []Subset{part("a", 2, 0, 2, 2)}},
		"two parts": {[]SampleScore{of("b", "", 1, 2), of("a", "", 3, 4)},
			[]Subset{part("a", 1, 0, 3, 4), part("b", 1, 0, 1, 2)}},
		"the rest": {[]SampleScore{of("b", "", 1, 2), of("", "", 3, 4)},
			[]Subset{part("", 1, 0, 3, 4), part("b", 1, 0, 1, 2)}},
		"no score": {[]SampleScore{of("a", "why", nan, nan)}, []Subset{{"a", 1, 1, map[string]float64{}}}},
		"some scores": {[]SampleScore{of("a", "why", nan, nan), of("a", "", 0, 5)},
			[]Subset{part("a", 2, 1, 0, 5)}},
	} {
		require.Equal(t, c.want, (&tally{scores: c.scores, names: []string{"x", "y"}}).subsets(), name)
	}
}

// Values are equal as in Python: numbers and booleans by value, and lists and objects by their content.
func TestEqualityOfPython(t *testing.T) {
	classes := [][]string{{"1", "1.0", "true"}, {"0", "0.0", "false"}, {"2"}, {"1.5"}, {"null"}, {`"1"`}, {`""`},
		{`"true"`}, {"[]"}, {"[1]", "[true]", "[1.0]"}, {"[1, 2]"}, {"[2, 1]"}, {"[[1]]", "[[true]]"}, {"{}"},
		{`{"a": 1}`, `{"a": true}`}, {`{"a": 2}`}, {`{"b": 1}`}, {`{"a": 1, "b": [2]}`, `{"b": [2.0], "a": 1}`},
		{"12345678901234567890123"}, {"12345678901234567890124"}}
	value := func(text string) any {
		v, err := parseJSON(text)
		require.NoError(t, err)
		return v
	}
	for i, these := range classes {
		for j, those := range classes {
			for _, a := range these {
				for _, b := range those {
					require.Equal(t, i == j, pyEqual(value(a), value(b)), "%s and %s", a, b)
					require.Equal(t, i == j, pyContains([]any{"x", value(b)}, value(a)), "%s and %s", a, b)
				}
			}
		}
	}
}

// A printed list around a choice is removed if it is there on both sides.
func TestListsAroundChoices(t *testing.T) {
	for _, open := range []string{"['", `["`} {
		for _, closing := range []string{"']", `"]`} {
			require.Equal(t, "B", choiceText(open+" B "+closing))
			require.Equal(t, "", choiceText(open+closing))
			require.Equal(t, open+"B", choiceText(open+"B"))
			require.Equal(t, "B"+closing, choiceText("B"+closing))
			require.Equal(t, "x"+open+"B"+closing, choiceText("x"+open+"B"+closing))
		}
	}
	require.Equal(t, "a\nb'", choiceText(`a\nb\'`))
}

// A product's brand counts if the truth has one, or is a whole product otherwise.
func TestBrandsOfProducts(t *testing.T) {
	for _, c := range []struct {
		brand, second string
		counts        bool
	}{{"", "", false}, {"x", "", true}, {"", "false", true}, {"x", "true", true}, {"y", "", true}} {
		out := SampleScore{Scores: make([]float64, 7)}
		for i := range out.Scores {
			out.Scores[i] = math.NaN()
		}
		scoreProduct(&sample{text: `{"category": "a", "brand": "x", "is_secondhand": false}`,
			ref: &Reference{Target: "a", Brand: c.brand, Secondhand: c.second}}, &out)
		require.Equal(t, 1.0, out.Scores[answerValid])
		require.Equal(t, c.counts, !math.IsNaN(out.Scores[brandMatches]), c)
		require.Equal(t, c.second != "", !math.IsNaN(out.Scores[secondhandTrue]), c)
		if c.brand != "" {
			require.Equal(t, number01(c.brand == "x"), out.Scores[brandMatches], c)
		}
	}
}

// A matrix is written in rows, another environment keeps its content, and a malformed name fails.
func TestEnvironmentsOfLatex(t *testing.T) {
	const rows = "[ a b; c ]"
	for name, want := range map[string]string{"pmatrix": rows, "bmatrix": rows, "array": rows, "smallmatrix": rows,
		"psmallmatrix": rows, "bsmallmatrix": rows, "cases": "a b\nc ", "": "a b\nc "} {
		l := &latex{s: `a  b\\c \end{` + name + `}`}
		var b strings.Builder
		l.environment(&b, name, 0)
		for l.at < len(l.s) {
			l.node(&b, 0)
		}
		require.False(t, l.failed, name)
		require.Equal(t, strings.Fields(want), strings.Fields(b.String()), name)
	}
	for _, c := range "()[]/+=^,\\" {
		l := &latex{s: "a"}
		l.environment(&strings.Builder{}, "x"+string(c), 0)
		require.True(t, l.failed, "%q", c)
	}
}

// A choice is right if it is one letter of the options and the data set's.
func TestRightChoices(t *testing.T) {
	for _, c := range []struct {
		choice, truth string
		right         bool
	}{{"A", "A", true}, {"A", "a", true}, {"D", "d", true}, {"E", "E", false}, {"A", "B", false}, {"", "", false},
		{"@", "@", false}, {"AB", "AB", false}, {"İ", "İ", false}, {"a", "A", false}, {"A", "", false}} {
		require.Equal(t, c.right, choiceCorrect(c.choice, c.truth, 'D'), c)
	}
	choice, ok := announced("finalanswer: D", 'D')
	require.True(t, ok)
	require.Equal(t, "D", choice)
}

// The first final channel with a message counts, up to its end.
func TestFinalChannels(t *testing.T) {
	const channel, message, end = finalChannel, messageMark, returnMark
	for text, want := range map[string]string{
		" x ": "x", channel + message + " a ": "a", channel + message + "a" + end + "b": "a",
		channel + " json" + message + "a": "a", channel + "x": channel + "x", channel + "<x>" + message + "a": channel +
			"<x>" + message + "a", channel + " x " + channel + message + "a": "a",
		channel + message + "a" + channel + message + "b": "a" + channel + message + "b", "x" + message + "a": "x" +
			message + "a", "": "",
	} {
		require.Equal(t, want, finalSection(text), text)
	}
}

// Some subsets ask for a call of any kind, and some for none.
func TestCallsThatAreAskedFor(t *testing.T) {
	const native = `[{"function": {"name": "f", "arguments": "{}"}}]`
	for _, subsets := range []struct {
		names map[string]bool
		right map[string]float64
	}{{refusals, map[string]float64{native: 0, "f(a=1)": 1, "": 1}},
		{relevance, map[string]float64{native: 1, "f(a=1)": 0, "": 0}}} {
		require.NotEmpty(t, subsets.names)
		for name := range subsets.names {
			for text, want := range subsets.right {
				out := SampleScore{Scores: []float64{math.NaN()}}
				require.NoError(t, scoreCalls(&sample{text: text, ref: &Reference{Subset: name}}, &out))
				require.Equal(t, want, out.Scores[0], "%s: %s", name, text)
			}
		}
	}
}

// What the reference's checker cannot compare is an error.
func TestDictionariesThatCannotBeCompared(t *testing.T) {
	value := func(text string) any {
		v, err := parseJSON(text)
		require.NoError(t, err)
		return v
	}
	for _, c := range []struct {
		value, allowed string
		fails          bool
	}{{`{"a": 2}`, `[{"a": [1]}, "x"]`, true}, {`{"a": 1}`, `[{"a": [1]}, "x"]`, false}, {`[1]`, `[{"a": [1]}]`, true},
		{`{"a": 1}`, `["", {"a": [1]}]`, false}, {`{"a": 1}`, `[{"a": 1}]`, true}, {`[1]`, `[""]`, false}} {
		_, err := checkDict(value(c.value), value(c.allowed).([]any))
		require.Equal(t, c.fails, errors.Is(err, errUnsupported), c)
	}
	_, err := checkDicts(value(`[{"a": 1}]`), value(`["x"]`).([]any))
	require.ErrorIs(t, err, errUnsupported)
	for allowed, fails := range map[string]bool{`[[1]]`: false, `["12"]`: false, `[1]`: true, `[null]`: true} {
		_, err := checkList(value(`[3]`).([]any), value(allowed).([]any))
		require.Equal(t, fails, errors.Is(err, errUnsupported), allowed)
	}
}

// Words are counted however many different ones there are.
func TestManyDifferentWords(t *testing.T) {
	for _, n := range []int{1, 2, 1023, 1024, 1025, 2048, 3000} {
		var words []string
		for i := range n {
			words = append(words, fmt.Sprint("w", i))
		}
		all := strings.Join(words, " ")
		for _, first := range []string{"w0", words[n-1]} {
			scores := newRouge(true).Score(first, all)
			require.InDelta(t, 1/float64(n), scores.Rouge1.P, 1e-12, n)
			require.InDelta(t, 1, scores.Rouge1.R, 1e-12, n)
		}
		require.InDelta(t, 1, newRouge(true).Score(all, all).Rouge1.F, 1e-12)
		r := newRouge(true)
		require.Equal(t, 0, r.commonUnigrams([]int32{0}, []int32{int32(n), int32(n + 1)}))
	}
}
