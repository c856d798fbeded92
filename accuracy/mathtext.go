package accuracy

import (
	"math"
	"math/big"
	"regexp"
	"strings"
)

// The second normalisation of MATH answers: units, numbers and LaTeX as text (spec/accuracy.md §8, 2).

var wordMath = []rewrite{
	{`\%`, "%"}, {`\$`, "$"}, {"$", ""}, {"%", ""}, {" or ", " , "}, {" and ", " , "},
	{"million", "*10^6"}, {"billion", "*10^9"}, {"trillion", "*10^12"},
}

// mathUnits are removed in this order.
var mathUnits = func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, unit := range []string{"degree", "cm", "centimeter", "meter", "mile", "second", "minute", "hour", "day", "week", "month", "year", "foot", "feet", "inch", "yard"} {
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

// MathPlain is a MATH answer as plain text, the form in which it is parsed.
func MathPlain(s string) string {
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

// isInteger tells whether a text is a whole number, thousands separated by commas or not.
func isInteger(s string) bool {
	f, ok := pyFloatOf(withoutGroups(s))
	return ok && nearInteger(f)
}

// withoutGroups removes the commas that separate thousands, and no others.
func withoutGroups(s string) string {
	for {
		next := groupComma.ReplaceAllString(s, "$1$2$3")
		if next == s {
			return s
		}
		s = next
	}
}

// latexSymbols are commands that stand for a character or a word. Others are dropped, and what is in their braces stays.
var latexSymbols = map[string]string{
	"pi": "pi", "infty": "inf", "cup": "U", "cdot": "*", "times": "*",
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
	"iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ",
	"phi": "ϕ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
	"Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
	"sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc", "arcsin": "arcsin", "arccos": "arccos", "arctan": "arctan",
	"log": "log", "ln": "ln", "exp": "exp", "min": "min", "max": "max", "gcd": "gcd", "det": "det", "dim": "dim", "lim": "lim",
	"le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "approx": "≈", "equiv": "≡", "pm": "±", "mp": "∓", "div": "÷",
	"in": "∈", "notin": "∉", "cap": "∩", "setminus": "∖", "emptyset": "∅", "subset": "⊂", "to": "→", "rightarrow": "→", "circ": "∘",
	"angle": "∠", "perp": "⊥", "parallel": "∥", "triangle": "△", "ldots": "…", "dots": "…", "cdots": "⋯", "prime": "′",
	",": " ", ":": " ", ";": " ", " ": " ", "quad": " ", "qquad": "  ", "{": "{", "}": "}", "$": "$", "%": "%", "&": "&", "#": "#", "_": "_", "|": "‖", "\\": "\n",
}

// maxLatexDepth bounds the nesting of groups and arguments.
const maxLatexDepth = 200

// latexText writes LaTeX as plain text: fractions with a slash, roots as sqrt(...), Greek letters as themselves.
func latexText(s string) string {
	s = rewriteAll(s, []rewrite{{`\tfrac`, `\frac`}, {`\dfrac`, `\frac`}, {`\frac`, ` \frac`}})
	l := latex{s: s}
	var b strings.Builder
	for l.at < len(l.s) {
		l.node(&b, 0)
		if l.deep {
			return s
		}
	}
	return pyStrip(strings.NewReplacer("√", "sqrt", "π", "pi", "∞", "inf", "∪", "U", "·", "*", "×", "*").Replace(b.String()))
}

// latex walks LaTeX source.
type latex struct {
	s    string
	at   int
	deep bool
}

// node writes the next node: a group, a command with its arguments, or a character.
func (l *latex) node(b *strings.Builder, depth int) {
	if depth > maxLatexDepth {
		l.deep, l.at = true, len(l.s)
		return
	}
	switch c := l.s[l.at]; c {
	case '{':
		l.at++
		l.group(b, depth+1)
	case '}', '$':
		l.at++
	case '~':
		l.at++
		b.WriteByte(' ')
	case '\\':
		l.at++
		l.command(b, l.name(), depth+1)
	default:
		l.at++
		b.WriteByte(c)
	}
}

// group writes nodes up to the closing brace.
func (l *latex) group(b *strings.Builder, depth int) {
	for l.at < len(l.s) {
		if l.s[l.at] == '}' {
			l.at++
			return
		}
		l.node(b, depth)
	}
}

// name reads a command's name: letters, or one other character.
func (l *latex) name() string {
	start := l.at
	for l.at < len(l.s) && fold(rune(l.s[l.at])) != 0 {
		l.at++
	}
	if l.at == start && l.at < len(l.s) {
		l.at++
	}
	return l.s[start:l.at]
}

// argument writes the next group or single node as text.
func (l *latex) argument(depth int) string {
	var b strings.Builder
	for l.at < len(l.s) && l.s[l.at] == ' ' {
		l.at++
	}
	if l.at < len(l.s) {
		l.node(&b, depth)
	}
	return b.String()
}

// option passes an optional argument in brackets.
func (l *latex) option() {
	if l.at < len(l.s) && l.s[l.at] == '[' {
		if end := strings.IndexByte(l.s[l.at:], ']'); end >= 0 {
			l.at += end + 1
		}
	}
}

func (l *latex) command(b *strings.Builder, name string, depth int) {
	switch name {
	case "frac":
		above := l.argument(depth)
		b.WriteString(above + "/" + l.argument(depth))
	case "sqrt":
		l.option()
		b.WriteString("√(" + l.argument(depth) + ")")
	case "begin":
		l.environment(b, l.argument(depth), depth)
	case "end":
		l.argument(depth)
	default:
		b.WriteString(latexSymbols[name])
	}
}

// environment writes a matrix as its rows; of others the content stays.
func (l *latex) environment(b *strings.Builder, name string, depth int) {
	end := strings.Index(l.s[l.at:], `\end{`+name+"}")
	if !strings.HasSuffix(name, "matrix") || end < 0 {
		return
	}
	inner := latex{s: l.s[l.at : l.at+end]}
	l.at += end + len(`\end{`+name+"}")
	var text strings.Builder
	for inner.at < len(inner.s) {
		if inner.s[inner.at] == '&' {
			inner.at++
			text.WriteByte(' ')
			continue
		}
		inner.node(&text, depth)
	}
	rows := strings.Split(text.String(), "\n")
	for i := range rows {
		rows[i] = strings.Join(strings.Fields(rows[i]), " ")
	}
	l.deep = l.deep || inner.deep
	b.WriteString("[ " + strings.Join(rows, "; ") + " ]")
}
