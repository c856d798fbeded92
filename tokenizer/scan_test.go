package tokenizer

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// inGo converts a split pattern for Go's regexp. It expands \s to Unicode's white space, and replaces the look-ahead at
// the end, which Go lacks, by a group that the caller shortens.
func inGo(expression string) *regexp.Regexp {
	expression = strings.Replace(expression, `|\s+(?!\S)|\s+`, `|(\s+)`, 1)
	var b strings.Builder
	inSet := false
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; {
		case c == '\\' && expression[i+1] == 's':
			if inSet {
				b.WriteString(`\t-\r\x{85}\p{Z}`)
			} else {
				b.WriteString(`[\t-\r\x{85}\p{Z}]`)
			}
			i++
		case c == '\\':
			b.WriteString(expression[i : i+2])
			i++
		default:
			inSet = c == '[' || inSet && c != ']'
			b.WriteByte(c)
		}
	}
	return regexp.MustCompile(b.String())
}

// splitInGo splits a text by a pattern from inGo.
func splitInGo(expression *regexp.Regexp, text string) []string {
	found := []string{}
	gap := 0
	for at := 0; at < len(text); {
		m := expression.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		start, end := at+m[0], at+m[1]
		if len(m) == 4 && m[2] >= 0 && end < len(text) {
			if _, last := utf8.DecodeLastRuneInString(text[:end]); end-last > start {
				end -= last
			}
		}
		if gap < start {
			found = append(found, text[gap:start])
		}
		found = append(found, text[start:end])
		at, gap = end, end
	}
	if gap < len(text) {
		found = append(found, text[gap:])
	}
	return found
}

// somewhere contains stretches of text that split patterns treat differently.
var somewhere = []string{"a", "B", "word", "Word", "HTTP", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2028", "\u0085",
	"1", "12345", "½", "٣", "'s", "'S", "'LL", "'ſ", "'",
	"’s", ".", "//", "_", "$", "€", "é", "e\u0301", "\u0301", "ª", "ǅ", "ʰ", "ß", "中文", "かな", "カナ", "龦", "𠀀", "😀",
	"\u200d", "\u00ad", "\x00", "\ufffd"}

func anyText() *rapid.Generator[string] {
	stretch := rapid.OneOf(rapid.SampledFrom(somewhere), rapid.SampledFrom(somewhere), rapid.String())
	return rapid.Map(rapid.SliceOfN(stretch, 0, 12), func(s []string) string { return strings.Join(s, "") })
}

func TestScannersAgreeWithRegexp(t *testing.T) {
	for expression := range knownPatterns {
		t.Run(expression[:min(len(expression), 24)], func(t *testing.T) {
			inGo := inGo(expression)
			rapid.Check(t, func(r *rapid.T) {
				text := anyText().Draw(r, "text")
				require.Equal(r, splitInGo(inGo, text), pieces(t, []string{expression}, text))
			})
		})
	}
}

func TestClassesBeyondTheBasicPlane(t *testing.T) {
	for text, want := range map[string]class{"𝐀": classUpper, "𝐚": classLower, "𠀀": classCaseless, "😀": classSymbol,
		"𝟎": classNumber, "𐄀": classPunct, "\U000e0100": classMark, "\U000e0001": 0} {
		got, size := classAt(text, 0)
		require.Equal(t, want, got, text)
		require.Equal(t, 4, size)
	}
}

func TestSplitBehaviours(t *testing.T) {
	const text = " a  b "
	for _, c := range []struct {
		behavior string
		invert   bool
		want     string
	}{
		{"Isolated", false, " |a| | |b| "},
		{"Isolated", true, " |a| | |b| "},
		{"Removed", false, "a|b"},
		{"Removed", true, " | | | "},
		{"MergedWithPrevious", false, " |a | |b "},
		{"MergedWithPrevious", true, " a| | b| "},
		{"MergedWithNext", false, " a| | b| "},
		{"MergedWithNext", true, " |a | |b "},
		{"Contiguous", false, " |a|  |b| "},
	} {
		space := " "
		s, err := splitStep(&part{Type: "Split", Pattern: &pattern{String: &space}, Behavior: c.behavior, Invert: c.invert})
		require.NoError(t, err)
		require.Equal(t, c.want, strings.Join(cutBy([]step{s}, text), "|"), "%s, invert %v", c.behavior, c.invert)
	}
}

func TestDigits(t *testing.T) {
	for individual, want := range map[bool]string{true: "a|1|2|b|½", false: "a|12|b|½"} {
		s, err := digitsStep(&part{IndividualDigits: individual})
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(cutBy([]step{s}, "a12b½"), "|"))
	}
}

func TestMetaspace(t *testing.T) {
	no := false
	for _, c := range []struct {
		scheme string
		split  *bool
		want   string
	}{
		{"always", nil, "▁a|▁|▁b.▁c"}, {"first", nil, "▁a|▁|▁b.c"}, {"never", nil, "a|▁|▁b.c"}, {"always", &no, "▁a▁▁b.▁c"},
	} {
		s, err := metaspaceStep(&part{Replacement: "▁", PrependScheme: &c.scheme, Split: c.split})
		require.NoError(t, err)
		dot := "."
		cut, err := splitStep(&part{Pattern: &pattern{String: &dot}, Behavior: "MergedWithPrevious"})
		require.NoError(t, err)
		require.Equal(t, c.want, strings.ReplaceAll(strings.Join(cutBy([]step{cut, s}, "a  b.c"), "|"), ".|", "."), c.scheme)
	}
}
