package accuracy

import (
	"math"
	"math/big"
	"regexp"
	"strings"
)

// The second normalization of MATH answers: units, numbers and LaTeX as text
// (docs/reference/scoring-rules.md#mathematics).

var wordMath = []rewrite{
	{`\%`, "%"}, {`\$`, "$"}, {"$", ""}, {"%", ""}, {" or ", " , "}, {" and ", " , "},
	{"million", "*10^6"}, {"billion", "*10^9"}, {"trillion", "*10^12"},
}

// mathUnits match the units that are removed from an answer, in this order.
var mathUnits = func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, unit := range []string{"degree", "cm", "centimeter", "meter", "mile", "second", "minute", "hour", "day", "week",
		"month", "year", "foot", "feet", "inch", "yard"} {
		out = append(out, regexp.MustCompile(unit+`(es)?(s)? *(\^[0-9]+)?`))
	}
	return out
}()

var (
	degreeSign  = regexp.MustCompile(`\^ *\\circ`)
	thinComma   = regexp.MustCompile(`,\\! *`)
	minusBlanks = regexp.MustCompile(`- *`)
	mixedNumber = regexp.MustCompile(`([0-9]) +([0-9])`)
	groupComma  = regexp.MustCompile(`(\p{Nd}),(\p{Nd}{3})($|\P{Nd})`)
)

// mathPlain returns a MATH answer as plain text for the expression parser.
func mathPlain(s string) string {
	s = rewriteAll(unwrapText(s, false), wordMath)
	for _, unit := range mathUnits {
		s = unit.ReplaceAllString(s, "")
	}
	s = degreeSign.ReplaceAllString(s, "")
	if len(s) > 0 && s[0] == '{' && s[len(s)-1] == '}' {
		s = s[1:max(len(s)-1, 1)]
	}
	s = thinComma.ReplaceAllString(s, "")
	if f, ok := pyFloatOf(s); ok && nearInteger(f) {
		s = integerText(math.RoundToEven(f))
	}
	if strings.Contains(s, `\`) {
		s = latexText(s)
	}
	s = minusBlanks.ReplaceAllString(s, "-")
	s = mixedNumber.ReplaceAllString(s, "$1+$2")
	s = pyLower(strings.NewReplacer(" ", "", "{", "", "}", "").Replace(s))
	if isInteger(s) {
		f, _ := pyFloatOf(strings.ReplaceAll(s, ",", ""))
		s = integerText(math.Trunc(f))
	}
	return s
}

func nearInteger(f float64) bool {
	return !math.IsInf(f, 0) && math.Abs(f-math.RoundToEven(f)) <= 1e-7
}

func integerText(f float64) string {
	n, _ := big.NewFloat(f).Int(nil)
	return n.String()
}

// isInteger reports whether a text is an integer, with or without commas between thousands.
func isInteger(s string) bool {
	f, ok := pyFloatOf(withoutGroups(s))
	return ok && nearInteger(f)
}

// withoutGroups removes only the commas that separate thousands.
func withoutGroups(s string) string {
	for {
		next := groupComma.ReplaceAllString(s, "$1$2$3")
		if next == s {
			return s
		}
		s = next
	}
}
