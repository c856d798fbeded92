package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// described reports whether the system's description could be read.
func described(s *scope) bool { return s.sut().err == nil }

// systemRules check systems/<system>.json (docs/reference/submission-rules.md#system-description).
var systemRules = atLevel(systemLevel,
	Rule{ID: "system-json", Class: Document, check: systemJSON,
		Advice: "write the system's description as a JSON object in this file"},
	Rule{ID: "system-status", Class: Document, when: []condition{described}, check: systemStatus,
		Advice: "use available, preview or rdi"},
	Rule{ID: "system-type", Class: Document, when: []condition{described}, check: systemType,
		Advice: "use datacenter, edge or datacenter,edge"},
	Rule{ID: "system-network", Class: Document, when: []condition{described}, check: systemNetwork,
		Advice: `is_network is "true" in the network division and absent or "false" in closed`},
	Rule{ID: "system-field-missing", Class: Document, when: []condition{described}, check: systemFieldMissing,
		Advice: "add the field"},
	Rule{ID: "system-field-empty", Class: Document, when: []condition{described}, check: systemFieldEmpty,
		Advice: `fill the field; write "N/A" if it does not apply, and the string "0" for a count of zero`},
	Rule{ID: "system-number", Class: Document, when: []condition{described}, check: systemNumber,
		Advice: "write a whole number: the summary multiplies it"},
	Rule{ID: "system-notes", Class: Document, when: []condition{described}, check: systemNotes,
		Advice: "write both notes as texts: the summary joins them"},
	Rule{ID: "system-submitter", Class: Document, when: []condition{described}, check: systemSubmitter,
		Advice: "write the submitter's name like its folder"},
	Rule{ID: "system-division", Class: Document, when: []condition{described}, check: systemDivision,
		Advice: "write the division whose folder contains the system"},
	Rule{ID: "system-division-spelling", Class: Document, Strict: true, when: []condition{described},
		check:  systemDivisionSpelling,
		Advice: "write the division in lower case, like its folder"},
	Rule{ID: "system-field-unknown", Class: Document, Severity: Warning, Strict: true, when: []condition{described},
		check:  systemFieldUnknown,
		Advice: "check for a misspelled name; an extra field does no harm"},
)

func systemJSON(s *scope, breach breachFunc) {
	if d := s.sut(); d.err != nil {
		breach(d.path, "", d.err, "a JSON object")
	}
}

func systemStatus(s *scope, breach breachFunc) {
	if v, ok := s.sut().text("status"); !ok || !slices.Contains(layout.Statuses, strings.ToLower(v)) {
		breach(s.sut().path, "status", s.sut().values["status"], strings.Join(layout.Statuses, ", "))
	}
}

func systemType(s *scope, breach breachFunc) {
	if v, ok := s.sut().text("system_type"); !ok || !slices.Contains(layout.SystemTypes, v) {
		breach(s.sut().path, "system_type", s.sut().values["system_type"], strings.Join(layout.SystemTypes, " or "))
	}
}

// networked parses is_network like the official checker: it may be absent or any string.
func (d *document) networked() (yes, ok bool) {
	v := d.values[layout.NetworkFlag]
	text, isText := v.(string)
	return isText && strings.EqualFold(text, "true"), isText || v == nil
}

func systemNetwork(s *scope, breach breachFunc) {
	yes, ok := s.sut().networked()
	division := s.division()
	if !ok || (division == layout.Network && !yes) || (division == layout.Closed && yes) {
		breach(s.sut().path, layout.NetworkFlag, s.sut().values[layout.NetworkFlag],
			fmt.Sprintf("%t, as text, in division %s", division == layout.Network, division))
	}
}

// requiredFields returns the fields that the description of a system must have.
func (d *document) requiredFields() []layout.Field {
	if truthy(d.values[layout.NetworkFlag]) {
		return slices.Concat(layout.SystemFields, layout.NetworkFields)
	}
	return layout.SystemFields
}

func systemFieldMissing(s *scope, breach breachFunc) {
	for _, f := range s.sut().requiredFields() {
		if !s.sut().has(f.Name) {
			breach(s.sut().path, f.Name, "no such field", "a field "+f.Name)
		}
	}
}

func systemFieldEmpty(s *scope, breach breachFunc) {
	if s.o.SkipEmptyFields {
		return
	}
	for _, f := range s.sut().requiredFields() {
		if !f.Empty && s.sut().has(f.Name) && s.sut().empty(f.Name) {
			breach(s.sut().path, f.Name, fmt.Sprintf("%q", shown(s.sut().values[f.Name])), "a meaningful value")
		}
	}
}

func systemNumber(s *scope, breach breachFunc) {
	names := layout.NumberFields
	if s.o.Mode == Compat { // only the final report needs the last one
		names = names[:2]
	}
	for _, name := range names {
		v := s.sut().values[name]
		if _, ok := pyInt(v); !ok && s.sut().has(name) && (truthy(v) || s.o.SkipEmptyFields) {
			breach(s.sut().path, name, v, "a whole number")
		}
	}
}

func systemNotes(s *scope, breach breachFunc) {
	if _, ok := notes(s.sut()); !ok {
		hw, sw := s.sut().values[hardwareNotes], s.sut().values[softwareNotes]
		breach(s.sut().path, softwareNotes, shown(pyRepr(hw)+" and "+pyRepr(sw)), "two texts")
	}
}

func systemSubmitter(s *scope, breach breachFunc) {
	folder := s.at(submitterLevel).name
	if v, ok := s.sut().text("submitter"); !ok || !strings.EqualFold(v, folder) {
		breach(s.sut().path, "submitter", s.sut().values["submitter"], folder)
	}
}

func systemDivision(s *scope, breach breachFunc) {
	if v, ok := s.sut().text("division"); !ok || !strings.EqualFold(v, s.division()) {
		breach(s.sut().path, "division", s.sut().values["division"], s.division())
	}
}

func systemDivisionSpelling(s *scope, breach breachFunc) {
	if v, _ := s.sut().text("division"); v != s.division() && strings.EqualFold(v, s.division()) {
		breach(s.sut().path, "division", v, s.division())
	}
}

func systemFieldUnknown(s *scope, breach breachFunc) {
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
