package plural

import (
	"fmt"
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

// Article returns a noun behind its indefinite article.
func Article(noun string) string {
	if len(noun) > 0 && strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
