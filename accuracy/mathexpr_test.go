package accuracy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two numbers are compared exactly, and expressions with unknowns at several points. If one expression cannot be
// parsed, the two are unequal.
func TestValuesOfExpressions(t *testing.T) {
	for _, c := range []struct {
		a, b         string
		equal, exact bool
	}{
		{"1/2", "2/4", true, true},
		{"1/3", "0.3333333333333333", false, true},
		{"2^64", "18446744073709551616", true, true},
		{"2^(-2)", "0.25", true, true},
		{"0^0", "1", true, true},
		{"x+x", "2*x", true, false},
		{"x", "y", false, false},
		{"x+y", "y+x", true, false},
		{"(", "1", false, false},
		{"1", "(", false, false},
		{"(", "(", false, false},
		{"0^(-1)", "0", false, false},
		{"1/0", "1", false, false},
	} {
		equal, exact := sameValue(c.a, c.b)
		require.Equal(t, []bool{c.equal, c.exact}, []bool{equal, exact}, "%s and %s", c.a, c.b)
	}
}
