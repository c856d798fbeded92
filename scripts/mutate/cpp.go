package main

import (
	"regexp"
	"strings"
)

// cppRules are the mutants of C++ sources. They are patterns, because this program cannot parse C++. They rely on
// clang-format's spaces around binary operators, which templates and pointers lack. The first group of a pattern is
// replaced.
var cppRules = []struct {
	pattern  *regexp.Regexp
	by, kind string
}{
	{regexp.MustCompile(` (==) `), "!=", kindNegate},
	{regexp.MustCompile(` (!=) `), "==", kindNegate},
	{regexp.MustCompile(` (<) `), "<=", kindBoundary},
	{regexp.MustCompile(` (<) `), ">=", kindNegate},
	{regexp.MustCompile(` (>) `), ">=", kindBoundary},
	{regexp.MustCompile(` (>) `), "<=", kindNegate},
	{regexp.MustCompile(` (&&) `), "||", kindOperand},
	{regexp.MustCompile(` (\|\|) `), "&&", kindOperand},
	{regexp.MustCompile(`\bif \((!)\w`), "", kindNegate},
	{regexp.MustCompile(` (\+) `), "-", kindMath},
	{regexp.MustCompile(` (-) `), "+", kindMath},
	{regexp.MustCompile(` (\*) `), "/", kindMath},
	{regexp.MustCompile(` (/) `), "*", kindMath},
	{regexp.MustCompile(` (%) `), "*", kindMath},
	{regexp.MustCompile(` (&) `), "|", kindMath},
	{regexp.MustCompile(` (\|) `), "&", kindMath},
	{regexp.MustCompile(`\w(\+\+)`), "--", kindMath},
	{regexp.MustCompile(`\b(true)\b`), "false", kindConstant},
	{regexp.MustCompile(`\b(false)\b`), "true", kindConstant},
	{regexp.MustCompile(`[ (,](\d+)[ ,;)]`), "(${1} * 2 + 1)", kindConstant},
	// A statement is the last call, assignment or increment of a line. Underscores stand for a comment.
	{regexp.MustCompile(`(?m)(?:^ *|\{ |\) )([\w:>.\[\]*-]+(?:\([^{}\n]*\)|(?: [|&+-]?= [^{}\n]*)|\+\+));` +
		`(?: \})?(?: +_+)?$`),
		"", kindDrop},
}

// cppHidden matches text without mutants: comments, text, the preprocessor's lines, and assertions of the compiler.
var cppHidden = regexp.MustCompile(`(?m)//.*$|"(?:[^"\\\n]|\\.)*"|^#(?:.*\\\n)*.*$|static_assert\(.*\);`)

// findCPP returns the mutants of a C++ file, in the order of the rules. Not every one compiles.
func findCPP(path, source string) []mutant {
	blank := func(s string) string {
		return regexp.MustCompile(`[^\n]`).ReplaceAllString(s, "_")
	}
	visible := cppHidden.ReplaceAllStringFunc(source, blank)
	var found []mutant
	for _, r := range cppRules {
		for _, at := range r.pattern.FindAllStringSubmatchIndex(visible, -1) {
			start, end := at[2], at[3]
			word := source[start:end]
			if r.kind == kindDrop && strings.HasPrefix(word, "return") {
				continue
			}
			text := strings.ReplaceAll(r.by, "${1}", word)
			line := 1 + strings.Count(source[:start], "\n")
			col := start - strings.LastIndexByte(source[:start], '\n')
			found = append(found, mutant{path, line, col, start, end, text, r.kind})
		}
	}
	return found
}
