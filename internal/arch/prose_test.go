package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// phrase is a turn that plain English avoids. The budgets are the numbers of its uses that are left, by kind of text:
// lower them when uses disappear, and never raise them.
type phrase struct {
	words                     string // letters and spaces, in lower case
	messages, comments, pages int
	plain                     string // what to write instead
}

var phrases = []phrase{
	{"none that", 0, 3, 0, `write "no ... that"`},
	{"nobody", 2, 16, 0, `name the subject, or use the passive`},
	{"of ours", 0, 2, 0, `write "this program's"`},
	{"is told", 0, 7, 0, `write "is reported", "is given" or "is set"`},
	{"are told", 0, 3, 1, `write "are reported", "are given" or "are set"`},
	{"told of", 0, 2, 0, `write "reported"`},
	{"stands in", 0, 4, 0, `write "is in" or "contains"`},
	{"stand in", 0, 2, 0, `write "are in" or "replace"`},
	{"is none", 2, 27, 0, `write "is not a"`},
	{"are none", 0, 5, 0, `write "are not"`},
	{"none is", 0, 6, 1, `write "no ... is"`},
	{"is nothing", 1, 0, 1, `write "there is no"`},
	{"what has", 0, 4, 1, `name the thing`},
	{"that which", 0, 0, 0, `write "what" or name the thing`},
	{"gives", 3, 47, 4, `write "returns", "sets" or "shows"`},
	{"says", 5, 43, 0, `write "reports", "states" or "contains"`},
	{"tells", 6, 15, 0, `write "reports" or "shows"`},
	{"knows", 3, 8, 3, `write "supports", "accepts" or "has"`},
	{"wants", 3, 6, 0, `write "requires" or "expects"`},
	{"stands", 2, 15, 2, `write "is"`},
	{"becomes of", 0, 0, 0, `write what happens`},
	{"became of", 0, 4, 0, `write what happened`},
	{"comes of", 0, 0, 0, `write what results`},
	{"may be had", 0, 0, 0, `write "is available"`},
	{"gives way", 0, 0, 0, `write "is replaced"`},
	{"is held against", 0, 1, 0, `write "is compared with"`},
	{"counts for nothing", 0, 0, 0, `write "does not count"`},
	{"without a word", 0, 3, 0, `write "without a message"`},
	{"but for", 0, 5, 0, `write "except for"`},
	{"all the same", 0, 1, 0, `write "anyway", or leave it out`},
	{"as it was", 1, 0, 2, `write "unchanged"`},
	{"can not", 0, 0, 0, `write "cannot"`},
	{"is wanted", 0, 0, 0, `write "is required"`},
	{"the one that", 1, 7, 1, `name the thing`},
}

// matcher returns a pattern of the words of a phrase, with any white space between them.
func (p phrase) matcher() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(p.words, " ", `\s+`) + `\b`)
}

// prose are the texts of a repository that people read, by the file that they are in.
type prose struct{ messages, comments, pages map[string]string }

// code matches what is no prose in a Markdown page.
var code = regexp.MustCompile("(?ms)^ *```.*?^ *```|`[^`\n]*`")

// lineComment matches a comment of a C++ file or a script.
var lineComment = regexp.MustCompile(`(?m)^\s*(?://|#)(.*)$`)

// add sorts the text of a file. Messages are the string literals of more than one word in Go files that are no tests.
func (p *prose) add(name, text string) error {
	switch {
	case strings.HasSuffix(name, "_test.go"):
	case strings.HasSuffix(name, ".go"):
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, c := range file.Comments {
			p.comments[name] += c.Text() + "\n\n"
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if value, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(value, " ") {
					p.messages[name] += value + "\n\n"
				}
			}
			return true
		})
	case strings.HasSuffix(name, ".md"):
		p.pages[name] = code.ReplaceAllString(text, "")
	default:
		for _, m := range lineComment.FindAllStringSubmatch(text, -1) {
			p.comments[name] += m[1] + "\n"
		}
	}
	return nil
}

// over returns one sentence for each kind of text that uses a phrase more often than its budget allows.
func (p *prose) over(ph phrase) []string {
	var faults []string
	pattern := ph.matcher()
	for _, kind := range []struct {
		name   string
		texts  map[string]string
		budget int
	}{{"messages", p.messages, ph.messages}, {"comments", p.comments, ph.comments}, {"pages", p.pages, ph.pages}} {
		count, uses := 0, []string{}
		for _, name := range slices.Sorted(maps.Keys(kind.texts)) {
			if n := len(pattern.FindAllString(kind.texts[name], -1)); n > 0 {
				count += n
				uses = append(uses, fmt.Sprintf("%s (%d)", name, n))
			}
		}
		if count > kind.budget {
			faults = append(faults, fmt.Sprintf("%q occurs %d times in %s, at most %d are allowed; %s: %s", ph.words, count,
				kind.name, kind.budget, ph.plain, strings.Join(uses, ", ")))
		}
	}
	return faults
}

func newProse() *prose {
	return &prose{map[string]string{}, map[string]string{}, map[string]string{}}
}

// TestProseIsPlain holds messages, comments and pages against the phrases.
func TestProseIsPlain(t *testing.T) {
	p := newProse()
	for name, text := range documents(t, ".go", ".c", ".cc", ".h", ".sh", ".md", "Makefile") {
		require.NoError(t, p.add(name, text), name)
	}
	require.Greater(t, len(p.comments), 300)
	require.Greater(t, len(p.messages), 200)
	require.Greater(t, len(p.pages), 15)
	for _, ph := range phrases {
		for _, fault := range p.over(ph) {
			t.Error(fault)
		}
	}
}

func TestPhrasesAreFound(t *testing.T) {
	p := newProse()
	require.NoError(t, p.add("a.go", "package a\n\n// A gives\n// the number. It is told of.\nvar A = \"none that "+
		"works\"\n"))
	require.NoError(t, p.add("a_test.go", "package a\n\n// Nobody gives the number.\n"))
	require.NoError(t, p.add("a.sh", "#!/bin/sh\n# nobody\necho nobody\n"))
	require.NoError(t, p.add("a.md", "Nobody `nobody`\n\n```\nnobody\n```\n"))
	require.Error(t, p.add("b.go", "no Go"))
	for _, test := range []struct {
		phrase
		faults []string
	}{
		{phrase{words: "gives the", plain: "use returns"},
			[]string{`"gives the" occurs 1 times in comments, at most 0 are allowed; use returns: a.go (1)`}},
		{phrase{words: "gives the", comments: 1}, nil},
		{phrase{words: "none that", plain: "use no"},
			[]string{`"none that" occurs 1 times in messages, at most 0 are allowed; use no: a.go (1)`}},
		{phrase{words: "nobody", plain: "use no one"}, []string{
			`"nobody" occurs 1 times in comments, at most 0 are allowed; use no one: a.sh (1)`,
			`"nobody" occurs 1 times in pages, at most 0 are allowed; use no one: a.md (1)`}},
		{phrase{words: "give the"}, nil},
	} {
		require.Equal(t, test.faults, p.over(test.phrase), test.words)
	}
}
