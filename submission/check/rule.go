package check

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// level is the kind of place that a rule looks at.
type level int

const (
	rootLevel level = iota
	divisionLevel
	submitterLevel
	systemLevel
	benchmarkLevel
	resultLevel
)

// Rule is one line of the table.
type Rule struct {
	ID       string
	Class    Class
	Severity Severity
	Strict   bool   // only in strict mode: the current official checker does not ask it
	Advice   string // what to do where it is broken

	level level
	when  []condition // all must hold for the rule to be asked
	look  func(*scope, say)
}

// say reports one breach: the file below the root, the key in it (empty: the file itself), what stands there and what
// should.
type say func(file, key string, found, expected any)

// condition narrows a rule to some places.
type condition func(*scope) bool

// rules is the whole table, family by family.
var rules = join(
	treeRules, systemRules, scenarioRules, logRules, performanceRules, latencyRules, metricRules,
	accuracyRules, measurementRules, auditRules, otherClientRules,
)

func join(families ...[]Rule) []Rule {
	var all []Rule
	for _, f := range families {
		all = append(all, f...)
	}
	return all
}

// Rules gives the table in the order in which it is walked.
func Rules() []Rule { return append([]Rule(nil), rules...) }

// apply asks every rule of the table that is for this kind of place.
func (s *scope) apply(table []Rule) {
	for i := range table {
		r := &table[i]
		if r.level == s.level && (!r.Strict || s.o.Mode == Strict) && s.all(r.when) {
			s.ask(r)
		}
	}
}

func (s *scope) all(conditions []condition) bool {
	for _, c := range conditions {
		if !c(s) {
			return false
		}
	}
	return true
}

// maxBreaches bounds the findings of one rule at one place; a tree may hold a million hidden files.
const maxBreaches = 50

func (s *scope) ask(r *Rule) {
	breaches := 0
	r.look(s, func(file, key string, found, expected any) {
		breaches++
		if breaches > maxBreaches {
			return
		}
		s.findings = append(s.findings, Finding{
			Rule: r.ID, Class: r.Class, Severity: r.Severity, Place: shown(s.path),
			File: shown(file), Key: shown(key), Found: shown(found), Expected: shown(expected), Advice: r.Advice,
		})
	})
	if breaches > maxBreaches {
		s.findings = append(s.findings, Finding{
			Rule: r.ID, Class: r.Class, Severity: r.Severity, Place: shown(s.path), File: shown(s.path),
			Found: fmt.Sprintf("%d more of these", breaches-maxBreaches), Advice: r.Advice,
		})
	}
	if breaches > 0 && r.Severity == Error {
		s.broken = true
	}
}

// maxShown bounds a value in a finding: foreign files may hold megabytes in one.
const maxShown = 400

func shown(v any) string {
	text := ""
	if v != nil {
		text = fmt.Sprint(v)
	}
	switch {
	case len(text) > maxShown:
		return fmt.Sprintf("%.*q... (%d bytes)", maxShown, text, len(text))
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return strconv.Quote(text)
	}
	return text
}
