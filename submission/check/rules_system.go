package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// described: the system's description could be read.
func described(s *scope) bool { return s.sut().err == nil }

// systemRules look at systems/<system>.json (docs/reference/submission-rules.md#system-description).
var systemRules = []Rule{
	{ID: "system-json", Class: Document, Severity: Error, level: systemLevel,
		Advice: "write the system's description as a JSON object", look: systemJSON},
	{ID: "system-status", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "take available, preview or rdi", look: systemStatus},
	{ID: "system-type", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "take datacenter, edge or datacenter,edge", look: systemType},
	{ID: "system-network", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: `is_network is "true" in the network division and absent or "false" in closed`, look: systemNetwork},
	{ID: "system-field-missing", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "add the field", look: systemFieldMissing},
	{ID: "system-field-empty", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: `fill the field; where there is nothing to say write "N/A", for a count of none the string "0"`,
		look:   systemFieldEmpty},
	{ID: "system-number", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "write a whole number: the summary multiplies it", look: systemNumber},
	{ID: "system-notes", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "write both notes as texts: the summary joins them", look: systemNotes},
	{ID: "system-submitter", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "name the submitter as its folder is called", look: systemSubmitter},
	{ID: "system-division", Class: Document, Severity: Error, level: systemLevel, when: []condition{described},
		Advice: "name the division in whose folder the system lies", look: systemDivision},
	{ID: "system-division-spelling", Class: Document, Severity: Error, Strict: true, level: systemLevel,
		when:   []condition{described},
		Advice: "write the division in lower case, as its folder is called", look: systemDivisionSpelling},
	{ID: "system-field-unknown", Class: Document, Severity: Warning, Strict: true, level: systemLevel,
		when:   []condition{described},
		Advice: "look for a misspelt name; an extra field does no harm", look: systemFieldUnknown},
}

func systemJSON(s *scope, breach say) {
	if d := s.sut(); d.err != nil {
		breach(d.path, "", d.err, "a JSON object")
	}
}

func systemStatus(s *scope, breach say) {
	if v, ok := s.sut().text("status"); !ok || !slices.Contains(layout.Statuses, strings.ToLower(v)) {
		breach(s.sut().path, "status", s.sut().values["status"], strings.Join(layout.Statuses, ", "))
	}
}

func systemType(s *scope, breach say) {
	if v, ok := s.sut().text("system_type"); !ok || !slices.Contains(layout.SystemTypes, v) {
		breach(s.sut().path, "system_type", s.sut().values["system_type"], strings.Join(layout.SystemTypes, " or "))
	}
}

// networked reads is_network as the official checker does: absent, or any text.
func (s *scope) networked() (yes, ok bool) {
	v := s.sut().values[layout.NetworkFlag]
	text, isText := v.(string)
	return isText && strings.EqualFold(text, "true"), isText || v == nil
}

func systemNetwork(s *scope, breach say) {
	yes, ok := s.networked()
	division := s.division()
	if !ok || (division == layout.Network && !yes) || (division == layout.Closed && yes) {
		breach(s.sut().path, layout.NetworkFlag, s.sut().values[layout.NetworkFlag],
			fmt.Sprintf("%t, as text, in division %s", division == layout.Network, division))
	}
}

// asked gives the fields that this system's description needs.
func (s *scope) asked() []layout.Field {
	if truthy(s.sut().values[layout.NetworkFlag]) {
		return slices.Concat(layout.SystemFields, layout.NetworkFields)
	}
	return layout.SystemFields
}

func systemFieldMissing(s *scope, breach say) {
	for _, f := range s.asked() {
		if !s.sut().has(f.Name) {
			breach(s.sut().path, f.Name, "no such field", "a field "+f.Name)
		}
	}
}

func systemFieldEmpty(s *scope, breach say) {
	if s.o.SkipEmptyFields {
		return
	}
	for _, f := range s.asked() {
		if !f.Empty && s.sut().has(f.Name) && s.sut().empty(f.Name) {
			breach(s.sut().path, f.Name, fmt.Sprintf("%q", shown(s.sut().values[f.Name])), "something meaningful")
		}
	}
}

func systemNumber(s *scope, breach say) {
	names := layout.NumberFields
	if s.o.Mode == Compat { // the last one only the final report wants
		names = names[:2]
	}
	for _, name := range names {
		v := s.sut().values[name]
		if _, ok := pyInt(v); !ok && s.sut().has(name) && (truthy(v) || s.o.SkipEmptyFields) {
			breach(s.sut().path, name, v, "a whole number")
		}
	}
}

func systemNotes(s *scope, breach say) {
	if _, ok := notes(s.sut()); !ok {
		hw, sw := s.sut().values[hardwareNotes], s.sut().values[softwareNotes]
		breach(s.sut().path, softwareNotes, shown(pyRepr(hw)+" and "+pyRepr(sw)), "two texts")
	}
}

func systemSubmitter(s *scope, breach say) {
	folder := s.at(submitterLevel).name
	if v, ok := s.sut().text("submitter"); !ok || !strings.EqualFold(v, folder) {
		breach(s.sut().path, "submitter", s.sut().values["submitter"], folder)
	}
}

func systemDivision(s *scope, breach say) {
	if v, ok := s.sut().text("division"); !ok || !strings.EqualFold(v, s.division()) {
		breach(s.sut().path, "division", s.sut().values["division"], s.division())
	}
}

func systemDivisionSpelling(s *scope, breach say) {
	if v, _ := s.sut().text("division"); v != s.division() && strings.EqualFold(v, s.division()) {
		breach(s.sut().path, "division", v, s.division())
	}
}

func systemFieldUnknown(s *scope, breach say) {
	known := map[string]bool{}
	for _, f := range slices.Concat(layout.SystemFields, layout.NetworkFields, layout.OtherFields) {
		known[f.Name] = true
	}
	var unknown []string
	for name := range s.sut().values {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		breach(s.sut().path, name, "an unknown field", "the fields of the system description")
	}
}
