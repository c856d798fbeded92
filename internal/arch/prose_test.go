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

// phrase is an expression that plain English avoids.
type phrase struct {
	words string // the phrase: letters and spaces, in lower case
	plain string // what to write instead
}

var phrases = []phrase{
	{"none that", `write "no ... that"`},
	{"nobody", `name the subject, or use the passive`},
	{"of ours", `write "this program's"`},
	{"is told", `write "is reported", "is given" or "is set"`},
	{"are told", `write "are reported", "are given" or "are set"`},
	{"told of", `write "reported"`},
	{"stands in", `write "is in" or "contains"`},
	{"stand in", `write "are in" or "replace"`},
	{"is none", `write "is not a"`},
	{"are none", `write "are not"`},
	{"none is", `write "no ... is"`},
	{"is nothing", `write "there is no"`},
	{"what has", `name the thing`},
	{"that which", `write "what" or name the thing`},
	{"gives", `write "returns", "sets" or "shows"`},
	{"says", `write "reports", "states" or "contains"`},
	{"tells", `write "reports" or "shows"`},
	{"knows", `write "supports", "accepts" or "has"`},
	{"wants", `write "requires" or "expects"`},
	{"stands", `write "is"`},
	{"becomes of", `write what happens`},
	{"became of", `write what happened`},
	{"comes of", `write what results`},
	{"may be had", `write "is available"`},
	{"gives way", `write "is replaced"`},
	{"is held against", `write "is compared with"`},
	{"counts for nothing", `write "does not count"`},
	{"without a word", `write "without a message"`},
	{"but for", `write "except for"`},
	{"all the same", `write "anyway", or leave it out`},
	{"as it was", `write "unchanged"`},
	{"can not", `write "cannot"`},
	{"is wanted", `write "is required"`},
	{"the one that", `name the thing`},
	{"say", `write "report", "state" or "contain"`},
	{"said", `write "reported" or "stated"`},
	{"takes", `write "accepts", "reads", "uses", "requires" or "removes"`},
}

// goodUses match uses of a phrase for which no other words are exact. They do not count.
var goodUses = map[string]*regexp.Regexp{"takes": regexp.MustCompile(`(?i)` + strings.Join([]string{
	// time and space, also after "how long" and "longer than"
	`(?:long|longer|than)(?:\s+\S+){1,8}?\s+takes\b`,
	`takes\s+(?:about|almost|at\s+(?:most|least)|(?:less|more)\s+than|up\s+to|as\s+(?:long|many)|[\w-]+\s+times|half|twice|under|far\s+less|\d[\d.]*)\b`,
	`takes\s+(?:\S+\s+){1,4}?(?:longer|(?:ms|s|[GM]iB|(?:second|minute|hour|round|byte)s?)\b)`,
	`takes\s+(?:\w+\s+)?(?:long|longer|time|seconds|minutes)\b`,
	// queues, locks and measurements
	`takes\s+(?:\S+\s+){0,4}?from\b`,
	`takes\s+(?:\S+\s+){0,3}?(?:locks?|stamps|snapshot|wake-up\s+back)\b`,
	`who[\s-]+takes\b`, `that\s+LoadGen\s+takes\b`,
	// fixed expressions
	`takes\s+(?:place|part|a\s+part|precedence|effect|over|back|turns|any\s+order)\b`,
	// names, and lines that a server logs
	`takes\s+(?:reports|returns|is)\b`, `torch\.compile\s+takes\b`, `memory\s+profiling\s+takes\b`,
}, "|"))}

// matcher returns a pattern that matches the words of a phrase with any white space between them.
func (p phrase) matcher() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(p.words, " ", `\s+`) + `\b`)
}

// prose contains the texts of a repository that people read, by the path of their file.
type prose struct{ messages, comments, pages map[string]string }

// code matches the code in a Markdown page.
var code = regexp.MustCompile("(?ms)^ *```.*?^ *```|`[^`\n]*`")

// lineComment matches a comment of a C++ file or a script.
var lineComment = regexp.MustCompile(`(?m)^\s*(?://|#)(.*)$`)

// testFunc matches the name of a test function. The group is the name after the prefix.
var testFunc = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)([A-Z]\w*)$`)

// hump matches the beginning of a word inside a name.
var hump = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// add collects the texts of a file by kind. Comments include the names of tests, split into words. Messages are the
// string literals of more than one word in Go files that are not tests.
func (p *prose) add(name, text string) error {
	switch {
	case strings.HasSuffix(name, ".go"):
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, c := range file.Comments {
			p.comments[name] += c.Text() + "\n\n"
		}
		if strings.HasSuffix(name, "_test.go") {
			p.addTests(name, file)
		} else {
			p.addMessages(name, file)
		}
	case strings.HasSuffix(name, ".md"):
		p.pages[name] = code.ReplaceAllString(text, "")
	case strings.HasSuffix(name, ".txtar"):
		script, _, _ := strings.Cut(text, "\n-- ")
		for _, m := range lineComment.FindAllStringSubmatch(script, -1) {
			p.comments[name] += m[1] + "\n"
		}
	default:
		for _, m := range lineComment.FindAllStringSubmatch(text, -1) {
			p.comments[name] += m[1] + "\n"
		}
	}
	return nil
}

// addTests collects the names of a file's test functions.
func (p *prose) addTests(name string, file *ast.File) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		if m := testFunc.FindStringSubmatch(f.Name.Name); m != nil {
			p.comments[name] += hump.ReplaceAllString(m[1], "$1$3 $2$4") + "\n\n"
		}
	}
}

// addMessages collects the messages of a file.
func (p *prose) addMessages(name string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if value, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(value, " ") {
				p.messages[name] += value + "\n\n"
			}
		}
		return true
	})
}

// uses returns one sentence for each kind of text that contains a phrase.
func (p *prose) uses(ph phrase) []string {
	var faults []string
	pattern := ph.matcher()
	for _, kind := range []struct {
		name  string
		texts map[string]string
	}{{"messages", p.messages}, {"comments", p.comments}, {"pages", p.pages}} {
		var uses []string
		for _, name := range slices.Sorted(maps.Keys(kind.texts)) {
			text := kind.texts[name]
			if good := goodUses[ph.words]; good != nil {
				text = good.ReplaceAllString(text, "")
			}
			if n := len(pattern.FindAllString(text, -1)); n > 0 {
				uses = append(uses, fmt.Sprintf("%s (%d)", name, n))
			}
		}
		if len(uses) > 0 {
			faults = append(faults, fmt.Sprintf("%s contain %q; %s: %s", kind.name, ph.words, ph.plain,
				strings.Join(uses, ", ")))
		}
	}
	return faults
}

func newProse() *prose {
	return &prose{map[string]string{}, map[string]string{}, map[string]string{}}
}

// TestProseIsPlain checks that messages, comments and pages contain none of the phrases.
func TestProseIsPlain(t *testing.T) {
	p := newProse()
	for name, text := range documents(t, ".go", ".c", ".cc", ".h", ".sh", ".md", ".txtar", "Makefile") {
		require.NoError(t, p.add(name, text), name)
	}
	require.Greater(t, len(p.comments), 300)
	require.Greater(t, len(p.messages), 200)
	require.Greater(t, len(p.pages), 15)
	for _, ph := range phrases {
		for _, fault := range p.uses(ph) {
			t.Error(fault)
		}
	}
}

func TestPhrasesAreFound(t *testing.T) {
	p := newProse()
	require.NoError(t, p.add("a.go", "package a\n\n// A gives\n// the number. It is told of.\nvar A = \"none that "+
		"works\"\n"))
	require.NoError(t, p.add("a_test.go", "package a\n\n// It wants\n// more.\nfunc TestTheTCPServerIsTold(t *T) {}\n\n"+
		"func (t) TestAnswerComesOf() { panic(\"it comes of it\") }\n"))
	require.NoError(t, p.add("a.txtar", "# what has an end\nexec a # what has none\n\n-- a.txt --\n# what has no end\n"))
	require.NoError(t, p.add("a.sh", "#!/bin/sh\n# nobody\necho nobody\n"))
	require.NoError(t, p.add("a.md", "Nobody `nobody`\n\n```\nnobody\n```\n"))
	require.NoError(t, p.add("b.sh", "# It takes no lock and takes about 3 s, and how long a server takes is unknown.\n"))
	require.NoError(t, p.add("c.sh", "# Run takes a\n# value, and it takes them.\n"))
	require.Error(t, p.add("b.go", "no Go"))
	for _, test := range []struct {
		phrase
		faults []string
	}{
		{phrase{"gives the", "use returns"}, []string{`comments contain "gives the"; use returns: a.go (1)`}},
		{phrase{"none that", "use no"}, []string{`messages contain "none that"; use no: a.go (1)`}},
		{phrase{"nobody", "use no one"}, []string{`comments contain "nobody"; use no one: a.sh (1)`,
			`pages contain "nobody"; use no one: a.md (1)`}},
		{phrase{"wants more", "use needs"}, []string{`comments contain "wants more"; use needs: a_test.go (1)`}},
		{phrase{"tcp server is told", "use hears"},
			[]string{`comments contain "tcp server is told"; use hears: a_test.go (1)`}},
		{phrase{words: "comes of"}, nil},
		{phrase{"what has", "name it"}, []string{`comments contain "what has"; name it: a.txtar (1)`}},
		{phrase{words: "give the"}, nil},
		{phrase{"takes", "use accepts"}, []string{`comments contain "takes"; use accepts: c.sh (2)`}},
	} {
		require.Equal(t, test.faults, p.uses(test.phrase), test.words)
	}
}
