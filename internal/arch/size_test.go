package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
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

// longFunctions returns one sentence for each function of a source that is too long, and the number of all functions.
// The length of a function is the number of lines from the word func to its closing brace.
func longFunctions(name, text string) (faults []string, functions int, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, 0, err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		functions++
		first, last := files.Position(f.Pos()).Line, files.Position(f.End()).Line
		if n := last - first + 1; n >= longestFunction {
			faults = append(faults, fmt.Sprintf("%s:%d: %s has %d lines; fewer than %d are allowed", name, first, f.Name.Name,
				n, longestFunction))
		}
	}
	return faults, functions, nil
}

// The test reads the other modules of the repository and the packages that serve tests as well.
func TestNoFunctionIsTooLong(t *testing.T) {
	seen := map[string]int{}
	for name, text := range documents(t, ".go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		faults, functions, err := longFunctions(name, text)
		require.NoError(t, err)
		for _, fault := range faults {
			t.Error(fault)
		}
		top, _, _ := strings.Cut(name, "/")
		seen[top] += functions
		seen[""] += functions
	}
	require.Greater(t, seen[""], 3000)
	for _, top := range []string{"kube", "otlp", "example", "backends", "scripts"} {
		require.Positive(t, seen[top], top)
	}
}

func TestLongFunctions(t *testing.T) {
	const head = "package a\n\nfunc short() {}\n\n// f is long.\nfunc f() {\n"
	for body, want := range map[int][]string{
		longestFunction - 3: nil,
		longestFunction - 2: {"a.go:6: f has 65 lines; fewer than 65 are allowed"},
	} {
		faults, functions, err := longFunctions("a.go", head+strings.Repeat("\n", body)+"}\n")
		require.NoError(t, err)
		require.Equal(t, want, faults)
		require.Equal(t, 2, functions)
	}
}
