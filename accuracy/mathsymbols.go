package accuracy

// latexSymbols maps LaTeX commands to the characters that the reference's LaTeX-to-text conversion writes for them. It
// contains the commands that occur in answers. Other commands are dropped, but the content of their braces stays.
var latexSymbols = map[string]string{
	"hbar": "ħ", "ell": "ℓ", "forall": "∀", "complement": "∁", "partial": "∂", "exists": "∃", "nexists": "∄",
	"varnothing": "∅", "emptyset": "∅", "aleph": "ℵ", "nabla": "∇", "in": "∈", "notin": "∉", "ni": "∋", "prod": "∏",
	"coprod": "∐", "sum": "∑", "setminus": "∖", "smallsetminus": "∖", "ast": "∗", "circ": "∘", "bullet": "∙",
	"propto": "∝", "infty": "∞", "parallel": "∥", "nparallel": "∦", "wedge": "∧", "vee": "∨", "cap": "∩", "cup": "∪",
	"int": "∫", "iint": "∬", "iiint": "∭", "oint": "∮", "sim": "∼", "simeq": "≃", "approx": "≈", "neq": "≠",
	"equiv": "≡", "le": "≤", "ge": "≥", "leq": "≤", "geq": "≥", "leqslant": "⩽", "geqslant": "⩾", "leqq": "≦",
	"geqq": "≧", "ll": "≪", "gg": "≫", "nless": "≮", "ngtr": "≯", "nleq": "≰", "ngeq": "≱", "lesssim": "≲",
	"gtrsim": "≳", "prec": "≺", "succ": "≻", "preceq": "≼", "succeq": "≽", "subset": "⊂", "supset": "⊃",
	"subseteq": "⊆", "supseteq": "⊇", "nsubseteq": "⊈", "nsupseteq": "⊉", "subsetneq": "⊊", "supsetneq": "⊋",
	"cdot": "·", "times": "×", "otimes": "⊗", "oplus": "⊕", "bigotimes": "⊗", "bigoplus": "⊕", "cos": "cos",
	"sin": "sin", "tan": "tan", "arccos": "arccos", "arcsin": "arcsin", "arctan": "arctan", "cosh": "cosh",
	"sinh": "sinh", "tanh": "tanh", "ln": "ln", "log": "log", "exp": "exp", "max": "max", "min": "min", "sup": "sup",
	"inf": "inf", "lim": "lim", "limsup": "lim sup", "liminf": "lim inf", "prime": "'", "dag": "†", "dagger": "†",
	"pm": "±", "mp": "∓", "quad": "  ", "qquad": "    ", "ldots": "…", "cdots": "⋯", "ddots": "⋱", "vdots": "⋮",
	"dots": "…", "dotsc": "…", "dotsb": "…", "dotsm": "…", "dotsi": "…", "dotso": "…", "langle": "⟨", "rangle": "⟩",
	"lvert": "|", "rvert": "|", "vert": "|", "lVert": "‖", "rVert": "‖", "Vert": "‖", "mid": "|", "nmid": "∤",
	"uparrow": "↑", "downarrow": "↓", "rightarrow": "→", "to": "→", "leftarrow": "←", "longrightarrow": "⟶",
	"longleftarrow": "⟵", "alpha": "α", "beta": "β", "gamma": "γ", "Gamma": "Γ", "delta": "δ", "Delta": "Δ",
	"epsilon": "ϵ", "zeta": "ζ", "eta": "η", "theta": "θ", "Theta": "Θ", "iota": "ι", "kappa": "κ", "lambda": "λ",
	"Lambda": "Λ", "mu": "μ", "nu": "ν", "xi": "ξ", "Xi": "Ξ", "pi": "π", "Pi": "Π", "rho": "ρ", "sigma": "σ",
	"Sigma": "Σ", "tau": "τ", "upsilon": "υ", "Upsilon": "Υ", "phi": "ϕ", "Phi": "Φ", "chi": "χ", "psi": "ψ",
	"Psi": "Ψ", "omega": "ω", "Omega": "Ω", "varepsilon": "ε", "vartheta": "ϑ", "varpi": "ϖ", "varrho": "ϱ",
	"varsigma": "ς", "varphi": "φ", "backslash": "\\", "angle": "∠", "measuredangle": "∡", "perp": "⊥", "cong": "≅",
	"div": "÷", "star": "⋆", "mapsto": "↦", "Leftarrow": "⇐", "Rightarrow": "⇒", "Leftrightarrow": "⇔",
	"leftrightarrow": "↔", "therefore": "∴", "because": "∵", "square": "□", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈",
	"rceil": "⌉", "uplus": "⊎", "top": "⊤", "vdash": "⊢", "textdegree": "°", "wp": "℘", "blacksquare": "▪",
	"triangleq": "≜", "doteq": "≐", "odot": "⊙", "ominus": "⊖", "surd": "√", "lnot": "¬", "rightsquigarrow": "⇝",
	"textquotesingle": "'", "bigcup": "⋃", "bigcap": "⋂", "bigtriangleup": "△", "diamond": "♢", "nrightarrow": "↛",
	"hookrightarrow": "↪", "rightleftharpoons": "⇌", "varkappa": "ϰ", "digamma": "ϝ", "blacktriangle": "▴",
	"gimel": "ℷ", "beth": "ℶ", ",": " ", ";": " ", ":": " ", " ": " ", "&": "&", "$": "$", "{": "{", "}": "}",
	"#": "#", "_": "_", "\\": "\n", "%": "%",
}

// typographic maps sequences of characters to one character.
var typographic = []rewrite{{"---", "—"}, {"--", "–"}, {"``", "“"}, {"''", "”"}}

// latexAccents are combining characters, written after the character they modify.
var latexAccents = map[string]string{
	"vec": "\u20d7", "dot": "\u0307", "hat": "\u0302", "check": "\u030c", "breve": "\u0306", "acute": "\u0301",
	"grave": "\u0300", "tilde": "\u0303", "bar": "\u0305", "ddot": "\u0308", "not": "\u0338",
}

// alphabet contains the code points of a mathematical style's letters, with the exceptions.
type alphabet struct {
	upper, lower rune
	elsewhere    map[rune]rune
}

var script = map[rune]rune{'B': 'ℬ', 'E': 'ℰ', 'F': 'ℱ', 'H': 'ℋ', 'I': 'ℐ', 'L': 'ℒ', 'M': 'ℳ', 'R': 'ℛ', 'e': 'ℯ',
	'g': 'ℊ', 'o': 'ℴ'}

var latexAlphabets = map[string]alphabet{
	"mathbf": {upper: 0x1d400, lower: 0x1d41a},
	"mathit": {upper: 0x1d434, lower: 0x1d44e, elsewhere: map[rune]rune{'h': 'ℎ'}},
	"mathsf": {upper: 0x1d5a0, lower: 0x1d5ba},
	"mathtt": {upper: 0x1d670, lower: 0x1d68a},
	"mathbb": {upper: 0x1d538, lower: 0x1d552,
		elsewhere: map[rune]rune{'C': 'ℂ', 'H': 'ℍ', 'N': 'ℕ', 'P': 'ℙ', 'Q': 'ℚ', 'R': 'ℝ', 'Z': 'ℤ'}},
	"mathcal": {upper: 0x1d49c, lower: 0x1d4b6, elsewhere: script},
	"mathscr": {upper: 0x1d49c, lower: 0x1d4b6, elsewhere: script},
	"mathfrak": {upper: 0x1d504, lower: 0x1d51e,
		elsewhere: map[rune]rune{'C': 'ℭ', 'H': 'ℌ', 'I': 'ℑ', 'R': 'ℜ', 'Z': 'ℨ'}},
}

func (a alphabet) styled(r rune) rune {
	if other, ok := a.elsewhere[r]; ok {
		return other
	}
	switch {
	case r >= 'A' && r <= 'Z':
		return a.upper + r - 'A'
	case r >= 'a' && r <= 'z':
		return a.lower + r - 'a'
	}
	return r
}
