package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// againSuffix ends the name of the file with a part's second run.
const againSuffix = "-again.json"

// mostAgain limits the tests that may run again: more failures are not an accident of a busy machine.
const mostAgain = 6

// final are words of failures that a busy machine does not explain.
var final = []string{"DATA RACE", "panic: ", "fatal error: ", "found unexpected goroutines", "Sanitizer",
	"[build failed]", "race detected"}

// again is the second run of the tests of a part that failed.
type again struct {
	passed  map[key]bool
	failed  map[key]bool
	skipped map[key]bool // top-level tests that an earlier part skipped in part
	before  map[key]bool // tests that were already skipped in the first run
}

func newAgain(skips map[key]bool) *again {
	return &again{passed: map[key]bool{}, failed: map[key]bool{}, skipped: map[key]bool{}, before: skips}
}

func (a *again) take(k key, e event) {
	switch e.Action {
	case "pass":
		a.passed[k] = true
	case "fail":
		a.failed[k] = true
	case "skip":
		if !a.before[k] {
			a.skipped[k.top()] = true
		}
	}
}

// forgives reports whether the second run shows that a failure was an accident. A test whose failed part is skipped
// passes without having run, so a skip forgives nothing.
func (a *again) forgives(k key) bool {
	top := k.top()
	return a.passed[k] && !a.skipped[top] && !a.failed[top] && !a.failed[key{pkg: k.pkg}]
}

// forgive moves the tests that failed in a part and passed in its second run, with their parents. Failures before the
// given one belong to other parts.
func (s *sum) forgive(first int) {
	a := s.again
	s.again = nil
	if a == nil {
		return
	}
	kept := s.failed[:first]
	for _, k := range s.failed[first:] {
		if a.forgives(k) && s.mayRunAgain(k) {
			s.flaky = append(s.flaky, k)
			s.passed++
			continue
		}
		kept = append(kept, k)
	}
	s.failed = kept
}

// top returns the top-level test that contains a subtest.
func (k key) top() key {
	k.test, _, _ = strings.Cut(k.test, "/")
	return k
}

// mayRunAgain reports whether the output of a failure and of its package names no fault that a busy machine does not
// explain.
func (s *sum) mayRunAgain(k key) bool {
	for _, of := range []key{k, k.top(), {pkg: k.pkg}} {
		for _, line := range s.output[of] {
			if slices.ContainsFunc(final, func(word string) bool { return strings.Contains(line, word) }) {
				return false
			}
		}
	}
	return k.test != ""
}

// printAgain prints each test to run again: its package and its pattern for go test -run.
func (s *sum) printAgain() {
	var list []key
	parts := map[key][]string{} // parallel parts that failed: they depend on no other, so each runs alone
	for _, k := range s.failed {
		if !s.mayRunAgain(k) {
			return // one such fault, and the part fails whatever else passes
		}
		top := k.top()
		if !slices.Contains(list, top) {
			list = append(list, top)
		}
		if part := strings.TrimPrefix(k.test, top.test+"/"); s.parallel(k) && !strings.Contains(part, "/") {
			parts[top] = append(parts[top], regexp.QuoteMeta(part))
		}
	}
	if len(list) > mostAgain {
		return
	}
	for _, k := range list {
		pattern := "^" + k.test + "$"
		if list := parts[k]; list != nil && len(list) == s.failedParts(k) {
			slices.Sort(list)
			pattern += "/^(" + strings.Join(list, "|") + ")$"
		}
		fmt.Fprintln(s.out, k.pkg, pattern)
	}
}

// parallel reports whether a subtest waited to run beside others.
func (s *sum) parallel(k key) bool {
	return k != k.top() && slices.ContainsFunc(s.output[k], func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "=== PAUSE ")
	})
}

// failedParts counts the failed subtests of a test, at every depth.
func (s *sum) failedParts(top key) (n int) {
	for _, k := range s.failed {
		if k != top && k.top() == top {
			n++
		}
	}
	return n
}
