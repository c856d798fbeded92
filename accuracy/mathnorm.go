package accuracy

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// The first normalization of MATH answers: Hendrycks' (docs/reference/scoring-rules.md#mathematics).

// rewrite is one replacement of a text.
type rewrite struct{ old, by string }

func rewriteAll(s string, rules []rewrite) string {
	for _, r := range rules {
		s = strings.ReplaceAll(s, r.old, r.by)
	}
	return s
}

var (
	plainLatex = []rewrite{
		{"\n", ""}, {`\!`, ""}, {`\\`, `\`}, {"tfrac", "frac"}, {"dfrac", "frac"}, {`\left`, ""}, {`\right`, ""},
		{`^{\circ}`, ""}, {`^\circ`, ""}, {`\$`, ""},
	}
	pointLatex = []rewrite{{`\%`, ""}, {" .", " 0."}, {"{.", "{0."}}
)

// mathNormal returns a MATH answer in Hendrycks' normal form.
func mathNormal(answer string) string {
	answer = unwrapText(pyStrip(answer), true)
	if s, ok := hendrycks(answer); ok {
		return s
	}
	return answer
}

// unwrapText returns the content of an answer that consists of \text{...}.
func unwrapText(s string, strip bool) string {
	inner, ok := strings.CutPrefix(s, `\text{`)
	if !ok || !strings.HasSuffix(strings.TrimSuffix(inner, "\n"), "}") {
		return s
	}
	inner = strings.TrimSuffix(strings.TrimSuffix(inner, "\n"), "}")
	if inner == "" || strings.Contains(inner, "\n") {
		return s
	}
	if strip {
		return pyStrip(inner)
	}
	return inner
}

// hendrycks returns false if the reference would fail.
func hendrycks(s string) (string, bool) {
	s = rewriteAll(s, plainLatex)
	if parts := strings.Split(s, `\text{ `); len(parts) > 2 {
		return "", false
	} else if len(parts) == 2 {
		s = parts[0]
	}
	s = rewriteAll(s, pointLatex)
	if s == "" {
		return s, true
	}
	if s[0] == '.' {
		s = "0" + s
	}
	if left, right, ok := strings.Cut(s, "="); ok && !strings.Contains(right, "=") && codePoints(left) <= 2 {
		s = right
	}
	s, ok := braceRoots(s)
	if !ok {
		return "", false
	}
	s, ok = braceFractions(strings.ReplaceAll(s, " ", ""))
	if !ok {
		return "", false
	}
	if s == "0.5" {
		return `\frac{1}{2}`, true
	}
	if m := integerRatio.FindStringSubmatch(s); m != nil {
		return `\frac{` + m[1] + "}{" + m[2] + "}", true
	}
	return s, true
}

// integerRatio matches a quotient of two integers without leading zeros.
var integerRatio = regexp.MustCompile(`^(0|-?[1-9][0-9]*)/(0|-?[1-9][0-9]*)$`)

// braceRoots rewrites \sqrt3 as \sqrt{3}.
func braceRoots(s string) (string, bool) {
	parts := strings.Split(s, `\sqrt`)
	for i, p := range parts[1:] {
		switch {
		case p == "":
			return "", false
		case p[0] != '{':
			_, n := utf8.DecodeRuneInString(p)
			parts[i+1] = "{" + p[:n] + "}" + p[n:]
		}
	}
	return strings.Join(parts, `\sqrt`), true
}

// braceFractions adds the missing braces of \frac12 and \frac1{2}.
func braceFractions(s string) (string, bool) {
	parts := strings.Split(s, `\frac`)
	for i, p := range parts[1:] {
		if p == "" {
			return "", false
		}
		if p[0] == '{' {
			continue
		}
		_, n := utf8.DecodeRuneInString(p)
		if n == len(p) {
			return s, true
		}
		_, m := utf8.DecodeRuneInString(p[n:])
		if p[n] == '{' {
			parts[i+1] = "{" + p[:n] + "}" + p[n:]
		} else {
			parts[i+1] = "{" + p[:n] + "}{" + p[n:n+m] + "}" + p[n+m:]
		}
	}
	return strings.Join(parts, `\frac`), true
}
