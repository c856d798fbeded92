package accuracy

import (
	"context"
	"regexp"
	"strings"
	"unicode"
)

func gradeMath(ctx context.Context, judge MathJudge, given, truth string) (equal, fallback bool, err error) {
	if mathNormal(given) == mathNormal(truth) {
		return true, false, nil
	}
	given, truth = mathPlain(given), mathPlain(truth)
	if given == truth {
		return true, false, nil
	}
	if given == "" {
		return false, false, nil
	}
	wantParts, givenParts := tupleParts(truth), tupleParts(given)
	if len(wantParts) != len(givenParts) || len(wantParts) == 0 {
		return false, false, nil
	}
	if len(wantParts) > 1 && (truth[0] != given[0] || truth[len(truth)-1] != given[len(given)-1]) {
		return false, false, nil
	}
	for i := range wantParts {
		var stoodIn bool
		equal, stoodIn, err = samePart(ctx, judge, givenParts[i], wantParts[i])
		fallback = fallback || stoodIn
		if err != nil || !equal {
			return false, fallback, err
		}
	}
	return true, fallback, nil
}

// samePart compares one part of a tuple, or a whole answer.
func samePart(ctx context.Context, judge MathJudge, given, want string) (equal, fallback bool, err error) {
	if equal, decided := comparedAsText(given, want); decided {
		return equal, false, nil
	}
	if !mayEvaluate("(" + want + ")-(" + given + ")") {
		return false, false, nil
	}
	equal, exact := sameValue(given, want)
	if exact || judge == nil {
		return equal, !exact, nil
	}
	equal, err = judge.Equal(ctx, given, want)
	return equal, false, err
}

var fractionForm = regexp.MustCompile(`^-?[0-9]+.?/0*[1-9][0-9]*.?$`)

// comparedAsText decides without algebra: fractions must be written alike, and an integer equals only itself.
func comparedAsText(given, want string) (equal, decided bool) {
	if fractionForm.MatchString(want) && fractionForm.MatchString(given) {
		return given == want, true
	}
	if isInteger(want) != isInteger(given) {
		return false, true
	}
	return false, false
}

const brackets = "()[]"

// tupleParts splits a tuple or an interval at its commas; any other text is one part.
func tupleParts(s string) []string {
	s = withoutGroups(s)
	if s == "" {
		return nil
	}
	if codePoints(s) > 2 && strings.IndexByte(brackets, s[0]) >= 0 && strings.IndexByte(brackets, s[len(s)-1]) >= 0 &&
		!strings.ContainsAny(s[1:len(s)-1], brackets) {
		parts := strings.Split(s[1:len(s)-1], ",")
		for i := range parts {
			parts[i] = pyStrip(parts[i])
		}
		return parts
	}
	return []string{s}
}

// maxUnknowns is the maximum number of distinct letters in an expression that is evaluated.
const maxUnknowns = 2

var longPower = regexp.MustCompile(`\^[0-9]+\^|\^[0-9][0-9]+`)

// mayEvaluate rejects text, and powers that a computer algebra system might never finish.
func mayEvaluate(expr string) bool {
	letters := map[rune]bool{}
	for _, r := range strings.ReplaceAll(strings.ReplaceAll(expr, "sqrt", ""), "frac", "") {
		if unicode.IsLetter(r) {
			letters[r] = true
		}
	}
	return len(letters) <= maxUnknowns && !strings.Contains(expr, "^{") && !strings.Contains(expr, "^(") &&
		!longPower.MatchString(expr)
}
