package accuracy

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// pyRound is Python's round(f, digits): the decimal nearest to the exact value, ties to even.
func pyRound(f float64, digits int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64)
	if err != nil {
		return f
	}
	return r
}

// numpyRound4 is round(x, 4) of a numpy float: it multiplies, rounds to even and divides again.
func numpyRound4(f float64) float64 { return math.RoundToEven(f*1e4) / 1e4 }

// asciiDigits converts the decimal digits of every script to 0 to 9.
func asciiDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if !pyDigit(r) {
			return r
		}
		// Decimal digits come in runs of ten that start with zero; a range of the table is one or several such runs.
		for _, span := range unicode.Nd.R16 {
			if r >= rune(span.Lo) && r <= rune(span.Hi) {
				return '0' + (r-rune(span.Lo))%10
			}
		}
		for _, span := range unicode.Nd.R32 {
			if r >= rune(span.Lo) && r <= rune(span.Hi) {
				return '0' + (r-rune(span.Lo))%10
			}
		}
		return r
	}, s)
}

// pyFloatOf is Python's float(s). It returns false where Python raises an error.
func pyFloatOf(s string) (float64, bool) {
	s = pyDigits(s)
	if strings.ContainsAny(s, "xXpP_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && f == 0 {
		return 0, false
	}
	return f, true
}

// betweenDigits are the underscores that Python allows in a number, and the digits around them.
var betweenDigits = regexp.MustCompile(`[0-9](?:_[0-9])+`)

// pyDigits returns the text of a number without blanks around it, with digits from 0 to 9 and without the underscores
// that Python allows. It keeps all other underscores, so that the text fails to parse as a number.
func pyDigits(s string) string {
	return betweenDigits.ReplaceAllStringFunc(asciiDigits(pyStrip(s)),
		func(digits string) string { return strings.ReplaceAll(digits, "_", "") })
}

// pyIntOf is Python's int(s). It returns false where Python raises an error.
func pyIntOf(s string) (int, bool) {
	n, err := strconv.Atoi(asciiDigits(pyStrip(s)))
	return n, err == nil
}
