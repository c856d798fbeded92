package plural

import (
	"fmt"
	"strconv"
	"strings"
)

// number is a type that counts things.
type number interface {
	~int | ~int32 | ~int64 | ~uint | ~uint64
}

// Count returns n and the words that belong to it: one for 1, many for every other number.
func Count[N number](n N, one, many string) string {
	return fmt.Sprintf("%d %s", n, Word(n, one, many))
}

// Word returns the words that belong to n, without n: one for 1, many for every other number.
func Word[N number](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Figure returns a number with four significant digits, and with all digits before the point. It never has an exponent,
// as the verb %g writes one for 10,000 and more.
func Figure(v float64) string {
	const digits, large = 4, 10_000
	if v >= large || v <= -large {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64) // a number is always read
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Article returns a noun behind its indefinite article.
func Article(noun string) string {
	if len(noun) > 0 && strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
