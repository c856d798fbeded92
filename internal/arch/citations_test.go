package arch

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// citations finds faulty references to pages. Pages maps each page of this repository to its anchors.
type citations struct {
	pages map[string][]string
}

var (
	// outside matches pages and sections that a clone of the repository does not contain.
	outside = regexp.MustCompile(`\bspec/[\w-]+\.md|\bshared/(spec|golden|tools)\b|\b(design|cli|style|users)\.md|§ ?\d`)
	// standard matches a section of a published standard, the only use of the section sign.
	standard = regexp.MustCompile(`RFC \d+ §\d`)
	// cited matches a page of this repository with an optional anchor, as comments and messages cite it.
	cited = regexp.MustCompile(`\bdocs/[\w/-]+\.md(?:#[\w-]+)?`)
	// linked matches the target of a Markdown link.
	linked = regexp.MustCompile(`\]\(([^)\s:]*)\)`)
	// heading matches a heading of a Markdown page outside code blocks.
	heading = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	// fenced matches a code block of a Markdown page.
	fenced = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	// punctuation matches the characters that GitHub omits from an anchor.
	punctuation = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the anchors that GitHub assigns to the headings of a page.
func anchors(page string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		all = append(all, strings.ReplaceAll(strings.ToLower(punctuation.ReplaceAllString(m[1], "")), " ", "-"))
	}
	return all
}

// find returns one sentence for each faulty reference in the text of the file name.
func (c *citations) find(name, text string) []string {
	var faults []string
	report := func(at int, format string, args ...any) {
		line := 1 + strings.Count(text[:at], "\n")
		faults = append(faults, fmt.Sprintf("%s:%d: ", name, line)+fmt.Sprintf(format, args...))
	}
	published := standard.FindAllStringIndex(text, -1)
	for _, at := range outside.FindAllStringIndex(text, -1) {
		if !slices.ContainsFunc(published, func(p []int) bool { return p[0] <= at[0] && at[1] <= p[1] }) {
			report(at[0], "%q is not in this repository; cite a page below docs/reference", text[at[0]:at[1]])
		}
	}
	check := func(at int, target string) {
		page, anchor, _ := strings.Cut(target, "#")
		known, ok := c.pages[page]
		switch {
		case !ok:
			report(at, "there is no page %s", page)
		case anchor != "" && !slices.Contains(known, anchor):
			report(at, "page %s has no section #%s", page, anchor)
		}
	}
	for _, at := range cited.FindAllStringIndex(text, -1) {
		check(at[0], text[at[0]:at[1]])
	}
	if strings.HasSuffix(name, ".md") {
		for _, at := range linked.FindAllStringSubmatchIndex(text, -1) {
			target := text[at[2]:at[3]]
			switch {
			case strings.HasPrefix(target, "#"):
				check(at[0], name+target)
			case strings.Contains(target, ".md"):
				check(at[0], path.Join(path.Dir(name), target))
			}
		}
	}
	return faults
}

// citing lists the suffixes of files whose references are checked.
var citing = []string{".go", ".c", ".cc", ".h", ".sh", ".py", ".yaml", ".yml", ".md", ".txtar", ".json", ".lock",
	"Makefile"}

// skipped lists folders without sources of this project.
var skipped = []string{".git", ".cache", "bin", "results", "third_party/loadgen"}

// documents returns the text of every file of the repository that ends in one of endings, by its path.
func documents(t *testing.T, endings ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if slices.Contains(skipped, name) {
				return fs.SkipDir
			}
			return nil
		}
		if slices.ContainsFunc(endings, func(s string) bool { return strings.HasSuffix(name, s) }) {
			all[name] = text(t, name)
		}
		return nil
	}))
	return all
}

// TestCitedPagesAndSectionsExist checks that every page and section that a source, a script or a page refers to exists.
func TestCitedPagesAndSectionsExist(t *testing.T) {
	files := documents(t, citing...)
	c := citations{pages: map[string][]string{}}
	for name, page := range files {
		if strings.HasSuffix(name, ".md") {
			c.pages[name] = anchors(page)
		}
	}
	require.Greater(t, len(c.pages), 15)
	found := 0
	for name, text := range files {
		if name == "internal/arch/citations_test.go" { // contains made-up references
			continue
		}
		found += len(cited.FindAllString(text, -1))
		for _, fault := range c.find(name, text) {
			t.Error(fault)
		}
	}
	require.Greater(t, found, 200)
}

func TestFindFaultyCitations(t *testing.T) {
	c := citations{pages: map[string][]string{
		"docs/reference/a.md": anchors("# Page A\n\n## What is `sent`, and when?\n\n```sh\n# no heading\n```\n"),
		"docs/how-to/b.md":    nil,
	}}
	require.Equal(t, []string{"page-a", "what-is-sent-and-when"}, c.pages["docs/reference/a.md"])
	for _, test := range []struct{ name, text, fault string }{
		{"x.go", "// As docs/reference/a.md#what-is-sent-and-when says.", ""},
		{"x.go", "// See docs/reference/a.md.", ""},
		{"x.go", "// See RFC 9110 §5.6.2.", ""},
		{"x.go", "// one\n// two (docs/reference/a.md#lost).", "x.go:2: page docs/reference/a.md has no section #lost"},
		{"x.sh", "# docs/gone.md", "x.sh:1: there is no page docs/gone.md"},
		{"x.cc", "// spec/rules.md", `x.cc:1: "spec/rules.md" is not in this repository; cite a page below docs/reference`},
		{"x.yaml", "# design.md", `x.yaml:1: "design.md" is not in this repository; cite a page below docs/reference`},
		{"x.go", "// rules §4", `x.go:1: "§4" is not in this repository; cite a page below docs/reference`},
		{"docs/how-to/b.md", "[a](../reference/a.md#page-a) [web](https://example.org/z.md)", ""},
		{"docs/how-to/b.md", "[a](../reference/a.md#b)", "docs/how-to/b.md:1: page docs/reference/a.md has no section #b"},
		{"docs/how-to/b.md", "[here](#lost)", "docs/how-to/b.md:1: page docs/how-to/b.md has no section #lost"},
		{"docs/how-to/b.md", "[c](c.md)", "docs/how-to/b.md:1: there is no page docs/how-to/c.md"},
	} {
		require.Equal(t, test.fault, strings.Join(c.find(test.name, test.text), "\n"), test.text)
	}
}

// goFile matches the name of a Go file.
var goFile = regexp.MustCompile(`[\w./-]*\w\.go\b`)

// missingFiles returns one sentence for each Go file that a comment on a line of its own names and that does not exist,
// neither in the folder of the source nor by its path from the root of the repository.
func missingFiles(name, text string, exists func(name string) bool) []string {
	var faults []string
	for _, at := range lineComment.FindAllStringSubmatchIndex(text, -1) {
		for _, named := range goFile.FindAllString(text[at[2]:at[3]], -1) {
			if !exists(path.Join(path.Dir(name), named)) && !exists(path.Clean(named)) {
				faults = append(faults, fmt.Sprintf("%s:%d: there is no file %s", name, 1+strings.Count(text[:at[2]], "\n"), named))
			}
		}
	}
	return faults
}

func TestFilesInCommentsExist(t *testing.T) {
	files := documents(t, ".go")
	exists := func(name string) bool { _, ok := files[name]; return ok }
	for name, text := range files {
		for _, fault := range missingFiles(name, text, exists) {
			t.Error(fault)
		}
	}
}

func TestFindMissingFiles(t *testing.T) {
	exists := func(name string) bool { return name == "a/b.go" || name == "a/doc.go" }
	require.Empty(t, missingFiles("a/doc.go", "// Reads (b.go).\n\tf() // not \"b.go\"\n\tg(\"c.go\")\n", exists))
	require.Empty(t, missingFiles("x/y.go", "// as in a/b.go and ../a/doc.go.\n", exists))
	require.Equal(t, []string{"x/y.go:2: there is no file b.go"}, missingFiles("x/y.go", "\n// as in b.go.\n", exists))
}
