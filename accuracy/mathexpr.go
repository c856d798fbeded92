package accuracy

import (
	"errors"
	"math"
	"math/big"
	"math/cmplx"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A replacement for symbolic algebra: two expressions are equal if they are the same rational number, or if their
// values agree at several real and complex points.

// Limits for expressions, which models write.
const (
	maxExpression = 4096
	maxNesting    = 100
	maxRatBits    = 1 << 14
	agreement     = 1e-9
)

// evalPoints are values of the two unknowns. Some are complex, so that sqrt(x^2) and x differ.
var evalPoints = [][2]complex128{
	{complex(0.731, 0), complex(1.618, 0)}, {complex(-1.273, 0), complex(0.577, 0)},
	{complex(2.345, 0.89), complex(-0.618, 1.7)}, {complex(-0.37, -1.41), complex(-2.13, 0.29)},
}

// sameValue reports whether two expressions are equal at every point, and whether that is exact, as it is for numbers.
// Expressions that cannot be parsed are unequal.
func sameValue(a, b string) (equal, exact bool) {
	left, err := parseExpression(a)
	if err != nil {
		return false, false
	}
	right, err := parseExpression(b)
	if err != nil {
		return false, false
	}
	if x, ok := left.rational(); ok {
		if y, ok := right.rational(); ok {
			return x.Cmp(y) == 0, true
		}
	}
	names := map[rune]int{}
	left.unknowns(names)
	right.unknowns(names)
	for _, point := range evalPoints {
		x, y := left.value(names, point), right.value(names, point)
		scale := max(1, cmplx.Abs(x), cmplx.Abs(y))
		if math.IsInf(scale, 0) || !(cmplx.Abs(x-y) <= agreement*scale) {
			return false, false
		}
	}
	return true, false
}

// term is a node of an expression.
type term struct {
	// '+', '-', '*', '/', '^'; '~' negation, 'r' square root, 'l' logarithm, '!' factorial, 'n' number, 'p' pi, 'x'
	// unknown
	op     byte
	number *big.Rat
	name   rune
	left   *term
	right  *term
}

var errExpression = errors.New("not an expression")

// expression is the unparsed rest of a text.
type expression struct {
	s     string
	depth int
}

func parseExpression(s string) (*term, error) {
	if len(s) > maxExpression {
		return nil, errExpression
	}
	e := expression{s: s}
	t, err := e.sum()
	if err == nil && e.s != "" {
		err = errExpression
	}
	return t, err
}

func (e *expression) take(prefix string) bool {
	rest, ok := strings.CutPrefix(e.s, prefix)
	e.s = rest
	return ok
}

func (e *expression) sum() (*term, error) {
	if e.depth++; e.depth > maxNesting {
		return nil, errExpression
	}
	defer func() { e.depth-- }()
	t, err := e.product()
	for err == nil && e.s != "" && (e.s[0] == '+' || e.s[0] == '-') {
		op := e.s[0]
		e.s = e.s[1:]
		var right *term
		right, err = e.product()
		t = &term{op: op, left: t, right: right}
	}
	return t, err
}

// product parses factors, which are separated by operators or follow each other directly.
func (e *expression) product() (*term, error) {
	t, err := e.signed()
	for err == nil && e.s != "" {
		op, read := byte('*'), e.signed
		switch c := e.s[0]; {
		case e.take("**"):
			return nil, errExpression
		case c == '*' || c == '/':
			op = c
			e.s = e.s[1:]
		case strings.IndexByte("+-)]},=<>!^|", c) >= 0:
			return t, nil
		default:
			read = e.power
		}
		var right *term
		right, err = read()
		t = &term{op: op, left: t, right: right}
	}
	return t, err
}

func (e *expression) signed() (*term, error) {
	minus := false
	for e.s != "" && (e.s[0] == '-' || e.s[0] == '+') {
		minus = minus != (e.s[0] == '-')
		e.s = e.s[1:]
	}
	t, err := e.power()
	if minus {
		t = &term{op: '~', left: t}
	}
	return t, err
}

func (e *expression) power() (*term, error) {
	if e.depth++; e.depth > maxNesting {
		return nil, errExpression
	}
	defer func() { e.depth-- }()
	t, err := e.atom()
	for err == nil && e.take("!") {
		t = &term{op: '!', left: t}
	}
	if err != nil || !e.take("^") {
		return t, err
	}
	right, err := e.signed()
	return &term{op: '^', left: t, right: right}, err
}

func (e *expression) atom() (*term, error) {
	for name, op := range map[string]byte{"sqrt": 'r', "ln": 'l', "log": 'l'} {
		if strings.HasPrefix(e.s, name+"(") {
			e.take(name)
			t, err := e.atom()
			return &term{op: op, left: t}, err
		}
	}
	if e.take("pi") {
		return &term{op: 'p'}, nil
	}
	if e.take("(") {
		t, err := e.sum()
		if !e.take(")") {
			err = errExpression
		}
		return t, err
	}
	digits := len(e.s) - len(strings.TrimLeft(e.s, "0123456789."))
	if digits > 0 {
		n, ok := new(big.Rat).SetString(e.s[:digits])
		if !ok || digits > maxExpression/8 {
			return nil, errExpression
		}
		e.s = e.s[digits:]
		return &term{op: 'n', number: n}, nil
	}
	r, n := utf8.DecodeRuneInString(e.s)
	if !unicode.IsLetter(r) {
		return nil, errExpression
	}
	e.s = e.s[n:]
	return &term{op: 'x', name: r}, nil
}

// rational returns the exact value of an expression without unknowns or irrational parts.
func (t *term) rational() (*big.Rat, bool) {
	switch t.op {
	case 'n':
		return t.number, true
	case 'p', 'x', 'r', 'l', '!':
		return nil, false
	}
	a, ok := t.left.rational()
	if !ok || tooLong(a) {
		return nil, false
	}
	if t.op == '~' {
		return new(big.Rat).Neg(a), true
	}
	b, ok := t.right.rational()
	if !ok || tooLong(b) {
		return nil, false
	}
	switch t.op {
	case '+':
		return new(big.Rat).Add(a, b), true
	case '-':
		return new(big.Rat).Sub(a, b), true
	case '*':
		return new(big.Rat).Mul(a, b), true
	case '/':
		if b.Sign() == 0 {
			return nil, false
		}
		return new(big.Rat).Quo(a, b), true
	}
	return rationalPower(a, b)
}

func tooLong(r *big.Rat) bool { return r.Num().BitLen()+r.Denom().BitLen() > maxRatBits }

// rationalPower raises a number to a small integer power.
func rationalPower(a, b *big.Rat) (*big.Rat, bool) {
	if !b.IsInt() || !b.Num().IsInt64() || b.Num().Int64() > 64 || b.Num().Int64() < -64 ||
		(a.Sign() == 0 && b.Sign() < 0) {
		return nil, false
	}
	n := b.Num().Int64()
	result := big.NewRat(1, 1)
	for range max(n, -n) {
		if result.Mul(result, a); tooLong(result) {
			return nil, false
		}
	}
	if n < 0 {
		result.Inv(result)
	}
	return result, true
}

// unknowns numbers the unknowns in order of appearance.
func (t *term) unknowns(names map[rune]int) {
	if t == nil {
		return
	}
	if _, known := names[t.name]; t.op == 'x' && !known {
		names[t.name] = len(names)
	}
	t.left.unknowns(names)
	t.right.unknowns(names)
}

func (t *term) value(names map[rune]int, point [2]complex128) complex128 {
	switch t.op {
	case 'n':
		f, _ := t.number.Float64()
		return complex(f, 0)
	case 'p':
		return math.Pi
	case 'x':
		return point[names[t.name]%len(point)]
	}
	a := t.left.value(names, point)
	switch t.op {
	case '~':
		return -a
	case 'r':
		return cmplx.Sqrt(a)
	case 'l':
		return cmplx.Log(a)
	case '!':
		return complex(math.Gamma(real(a)+1), 0)
	}
	b := t.right.value(names, point)
	switch t.op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '/':
		return a / b
	}
	return cmplx.Pow(a, b)
}
