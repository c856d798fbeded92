package pyrepr

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Python allows underscores between two digits. Depending on the function, Go's parsers accept them in other places
// too, or not at all.
const digits = `\d+(?:_\d+)*`

var (
	wholeNumber   = regexp.MustCompile(`^[+-]?` + digits + `$`)
	decimalNumber = regexp.MustCompile(`(?i)^[+-]?(?:(?:` + digits + `\.?(?:` + digits + `)?|\.` + digits + `)(?:e[+-]?` +
		digits + `)?|inf|infinity|nan)$`)
)

// maxDigits is Python's limit for the digits of an integer.
const maxDigits = 4300

// ErrNoNumber is returned for text that is not a number.
var ErrNoNumber = errors.New("is not a number")

// ParseFloat returns float(text) of Python: a decimal number with optional white space around it, inf or nan. Numbers
// out of range become infinity.
func ParseFloat(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if !decimalNumber.MatchString(text) {
		return 0, fmt.Errorf("%.40q %w", text, ErrNoNumber)
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%.40q %w", text, ErrNoNumber)
	}
	return f, nil
}

// ParseInt returns int(text) of Python: decimal digits with optional white space around them.
func ParseInt(text string) (*big.Int, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxDigits || !wholeNumber.MatchString(text) {
		return nil, fmt.Errorf("%.40q %w", text, ErrNoNumber)
	}
	n, _ := new(big.Int).SetString(strings.ReplaceAll(text, "_", ""), 10) // cannot fail: the text has only digits
	return n, nil
}
