package accuracy

import (
	"context"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func FuzzExtractors(f *testing.F) {
	for _, s := range []string{"FINAL ANSWER: (C)", `\boxed{a{b}c}`, "Answer: 12.", "```python\nx\n```",
		"<|channel|>final x<|message|>**B**<|return|>", "['ANSWER: İ']", "\xff\xfe`", "The answer is -1,0.5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, last := range []byte{fourOptions, tenOptions} {
			for _, choose := range []func(string, byte) (string, bool){finalChoice, harmonyChoice} {
				if c, ok := choose(s, last); ok && c != "İ" && (len(c) != 1 || c[0] < 'A' || c[0] > last) {
					t.Fatalf("chose %q of %q", c, s)
				}
			}
		}
		if n, ok := aimeAnswer(s); ok && (n < 0 || n > maxAIME) {
			t.Fatalf("%d of %q", n, s)
		}
		for _, find := range []func(string) (string, bool){boxedAnswer, pythonBlock, harmonyCode} {
			if v, ok := find(s); ok && utf8.ValidString(s) && !utf8.ValidString(v) {
				t.Fatalf("%q of %q", v, s)
			}
		}
		gsm8kCorrect(gsm8kNumber(s), s)
		mbxpSolution("python", s)
		needleMatch(s, s)
		answerContained(s, s)
	})
}

func FuzzMathEqual(f *testing.F) {
	for _, s := range []string{`\frac12`, `\sqrt{8}`, `(x+1)^2`, `[1,2)`, `\begin{pmatrix}1&2\end{pmatrix}`,
		`7\frac{3}{4}`, "9^9^9", "1/0", `\text{ cm}`, "((((", "x!!", `\mathbb{R}`} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, given, truth string) {
		if equal, _ := mathEqual(given, given); !equal {
			t.Fatalf("%q is not equal to itself", given)
		}
		mathEqual(given, truth)
		sameValue(given, truth)
	})
}

func FuzzParseProduct(f *testing.F) {
	for _, s := range []string{`{"category":"A","brand":"b","is_secondhand":1}`, `{"category":"A"`, `[]`,
		`{"category":{}}`, strings.Repeat("[", 20000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseProduct(s)
		if err == nil {
			common, predicted, truth := pathLevels(p.Category, p.Category)
			require.True(t, common == predicted && predicted == truth)
			brandRatio(p.Brand[:min(len(p.Brand), 200)], "x")
		}
	})
}

func FuzzFunctionCalls(f *testing.F) {
	for _, s := range []string{`[{"function":{"name":"f","arguments":"{}"}}]`, `f(a=1, b="x", c=[1,(2,)], d={"k": None})`,
		"f(a='unclosed", "((((f((", `g(x="\u00e9\x41\777")`, "h(a=b=1)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		calls, _ := callsJSON(s)
		if _, err := parseJSON(calls); err != nil && utf8.ValidString(s) && !strings.Contains(calls, "inf") {
			t.Fatalf("%q gives %q: %v", s, calls, err)
		}
	})
}

func FuzzCheckCalls(f *testing.F) {
	f.Add("simple_python", `[{"name":"f","parameters":{"properties":{"a":{"type":"dict"}},"required":[]}}]`,
		`[{"f":{"a":{"k":1}}}]`, `[{"f":{"a":[{"k":[1]}]}}]`)
	f.Add("simple_java", `[{"name":"f","parameters":{"properties":{"a":{"type":"ArrayList","items":{"type":"char"}}},"required":["a"]}}]`, `[{"f":{"a":"new ArrayList<>(Arrays.asList('a'))"}}]`, `[{"f":{"a":[["a"]]}}]`)
	f.Add("simple_javascript", `[{"name":"f","parameters":{"properties":{"a":{"type":"dict"}},"required":["a"]}}]`,
		`[{"f":{"a":"{k: [1, 2], j: {x: 1}}"}}]`, `[{"f":{"a":[{"k":[[1,2]]}]}}]`)
	f.Add("parallel", `[{"name":"f","parameters":{"properties":{"a":{"type":"array","items":{"type":"dict"}}},"required":[]}}]`, `[{"f":{"a":[]}}]`, `[{"f":{"a":[""]}}]`)
	f.Fuzz(func(t *testing.T, subset, descriptions, calls, expected string) {
		v, err := checkCallsJSON(subset, descriptions, calls, expected)
		require.True(t, err != nil || v.Valid == (v.Error == ""))
	})
}

func FuzzPunkt(f *testing.F) {
	for _, s := range []string{"Dr. Who. He left?! \"Yes.\" ...", ". . . .", "a.b.c. D", "é. \u2028x", ".)]}\"' --",
		"\x1c.\x1d ?"} {
		f.Add(s)
	}
	p := newPunkt()
	p.abbreviations["dr"] = true
	p.ortho["he"] = anyUpper | anyLower
	r := newRouge(true)
	f.Fuzz(func(t *testing.T, s string) {
		at := 0
		for _, sentence := range p.Sentences(s) {
			i := strings.Index(s[at:], sentence)
			if i < 0 {
				t.Fatalf("the sentence %q does not stand in order in %q", sentence, s)
			}
			at += i + len(sentence)
		}
		scores := r.Score(s, p.Joined(s))
		for _, m := range []rougeScore{scores.Rouge1, scores.Rouge2, scores.RougeL} {
			if m.F != 0 && m.F != 1 {
				t.Fatalf("%q against itself gives %v", s, m)
			}
		}
	})
}

func FuzzReadPunktJSON(f *testing.F) {
	f.Add(`{"AbbrevTypes":{"dr":1},"Collocations":{"a,b":1},"SentStarters":{"she":1},"OrthoContext":{"x":4}}`)
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := readPunktJSON(strings.NewReader(s)); err == nil {
			p.Sentences(s)
		}
	})
}

func FuzzCheckText(f *testing.F) {
	f.Add("{'rouge1': '38.7', 'gen_len': 3}\nhash=ab")
	f.Add("{\"f1\": 0.8}\nmAP=1..2")
	var targets []Target
	for _, b := range Benchmarks() {
		targets = append(targets, b.Targets...)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := CheckText(strings.NewReader(s), targets, false)
		require.True(t, err != nil || c.Valid == (len(c.Why) == 0))
	})
}

// The bit-parallel algorithm returns the same length as the table.
func TestLongestCommonSubsequence(t *testing.T) {
	r := newRouge(false)
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"})
		ref, pred := rapid.SliceOfN(word, 0, 200).Draw(t, "ref"), rapid.SliceOfN(word, 0, 200).Draw(t, "pred")
		want := commonSubsequence([]rune(strings.Join(ref, "")), []rune(strings.Join(pred, "")))
		got := r.Score(strings.Join(ref, " "), strings.Join(pred, " "))
		if len(ref) > 0 && math.Abs(got.RougeL.R*float64(len(ref))-float64(want)) > 1e-9 {
			t.Fatalf("want %d, got %v of %d", want, got.RougeL.R, len(ref))
		}
		if got.RougeLsum != got.RougeL {
			t.Fatalf("one sentence a side: Lsum %v differs from L %v", got.RougeLsum, got.RougeL)
		}
	})
}

// mathLog is a judge that records the questions and returns the same answer to each.
type mathLog struct{ asked []string }

func (m *mathLog) Equal(_ context.Context, given, truth string) (bool, error) {
	m.asked = append(m.asked, given+"="+truth)
	return true, nil
}

func TestMathJudgeDecidesAlgebraAlone(t *testing.T) {
	var m mathLog
	for _, c := range [][2]string{{`\frac12`, "1/2"}, {"2", "3"}, {"2/4", "1/2"}, {`\sqrt{2}x`, `x\sqrt{3}`}} {
		_, fallback, err := gradeMath(context.Background(), &m, c[0], c[1])
		require.NoError(t, err)
		require.False(t, fallback)
	}
	require.Equal(t, []string{"sqrt(2)x=xsqrt(3)"}, m.asked)
}
