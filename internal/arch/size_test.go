package arch

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Limits of a source: characters in a line, where a tab counts as one, and lines of a function with its braces.
const (
	widestLine      = 120
	longestFunction = 65
)

// rawLines returns the numbers of the lines that contain a part of a raw string in a Go source.
func rawLines(text string) map[int]bool {
	lines := map[int]bool{}
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, 0)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.STRING && strings.HasPrefix(literal, "`") {
			first := file.Line(pos)
			for i := range strings.Count(literal, "\n") + 1 {
				lines[first+i] = true
			}
		}
	}
}

// wideLines returns one sentence for each line of a source that is too wide. Raw strings in tests may be wider, because
// they quote the output of other programs.
func wideLines(name, text string) []string {
	var faults []string
	raw := map[int]bool{}
	if strings.HasSuffix(name, "_test.go") {
		raw = rawLines(text)
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); n > widestLine && !raw[number] {
			faults = append(faults, fmt.Sprintf("%s:%d: %d characters, at most %d", name, number, n, widestLine))
		}
	}
	return faults
}

func TestNoLineIsTooWide(t *testing.T) {
	files := documents(t, ".go", ".c", ".cc", ".h")
	require.Greater(t, len(files), 500)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, fault := range wideLines(name, files[name]) {
			t.Error(fault)
		}
	}
}

func TestWideLines(t *testing.T) {
	wide := strings.Repeat("é", widestLine)
	require.Empty(t, wideLines("a.go", wide+"\n\t"+wide[2:]+"\n"))
	require.Equal(t, []string{"a.go:2: 121 characters, at most 120"}, wideLines("a.go", "\n"+wide+"x\n"))
	quoted := "package a\n\nvar a = `\n" + wide + "x\n`\n"
	require.Empty(t, wideLines("a_test.go", quoted))
	require.Len(t, wideLines("a.go", quoted), 1)
	require.Len(t, wideLines("a_test.go", "package a\n\nvar a = \""+wide+"\"\n"), 1)
}

// length returns the number of lines of a function from the word func to its closing brace.
func (s source) length(f *ast.FuncDecl) int {
	return s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
}

func TestNoFunctionIsTooLong(t *testing.T) {
	seen := 0
	for _, s := range sources(t) {
		if below(s.pkg, forTests...) {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				seen++
				if n := s.length(f); n >= longestFunction {
					t.Errorf("%s: %s has %d lines; fewer than %d are allowed", s.at(f), f.Name.Name, n, longestFunction)
				}
			}
		}
	}
	require.Greater(t, seen, 3000)
}
