package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// level is the kind of folder to which a rule applies.
type level int

const (
	rootLevel level = iota
	divisionLevel
	submitterLevel
	systemLevel
	benchmarkLevel
	resultLevel
)

// Rule is one row of the table.
type Rule struct {
	ID       string
	Class    Class
	Severity Severity // Error unless the table states otherwise
	Strict   bool     // apply only in strict mode: the current official checker lacks the rule
	Advice   string   // what to do about a breach

	level level
	when  []condition // all must hold for the rule to apply
	check func(*scope, breachFunc)
}

// breachFunc reports one breach: the file relative to the root, the key in it ("" for the file itself), the value found
// and the value expected.
type breachFunc func(file, key string, found, expected any)

// condition restricts a rule to some folders.
type condition func(*scope) bool

// rules is the whole table, family by family.
var rules = join(
	treeRules, systemRules, scenarioRules, logRules, performanceRules, latencyRules, metricRules,
	accuracyRules, measurementRules, auditRules, otherClientRules,
)

// join concatenates families of rules and fills in the default severity.
func join(families ...[]Rule) []Rule {
	all := slices.Concat(families...)
	for i := range all {
		all[i].Severity = cmp.Or(all[i].Severity, Error)
	}
	return all
}

// atLevel sets the level of a family of rules.
func atLevel(l level, family ...Rule) []Rule {
	for i := range family {
		family[i].level = l
	}
	return family
}

// Rules returns the table in the order in which it is applied.
func Rules() []Rule { return slices.Clone(rules) }

// apply applies every rule of the table that is for this level.
func (s *scope) apply(table []Rule) {
	for i := range table {
		r := &table[i]
		fails := func(c condition) bool { return !c(s) }
		if r.level == s.level && (!r.Strict || s.o.Mode == Strict) && !slices.ContainsFunc(r.when, fails) {
			s.applyRule(r)
		}
	}
}

// maxBreaches limits the findings of one rule in one folder; a tree may contain a million hidden files.
const maxBreaches = 50

func (s *scope) applyRule(r *Rule) {
	breaches := 0
	r.check(s, func(file, key string, found, expected any) {
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

// maxShown limits the bytes of a value in a finding; foreign files may have values of megabytes.
const maxShown = 400

// shown formats a value for a finding: quoted if it has unprintable characters, and limited in length.
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
