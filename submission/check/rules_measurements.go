package check

import (
	"fmt"
	"path"
	"strings"
)

func measured(s *scope) bool { return s.result.measurements.err == nil }

// measurementRules look at what says how the model was made (spec/submission.md §2.2, §3 M1-M4).
var measurementRules = []Rule{
	{ID: "measurements-json", Class: Document, Severity: Error, level: resultLevel,
		Advice: "write measurements.json", look: measurementsJSON},
	{ID: "measurements-field-missing", Class: Document, Severity: Error, level: resultLevel, when: []condition{measured},
		Advice: "add the field", look: measurementsMissing},
	{ID: "measurements-field-empty", Class: Document, Severity: Error, level: resultLevel, when: []condition{measured},
		Advice: "fill the field", look: measurementsEmpty},
	{ID: "user-conf", Class: Document, Severity: Error, level: resultLevel, when: []condition{byLoadGen},
		Advice: "put the run's user.conf there", look: func(s *scope, b say) { s.documentThere("user.conf", b) }},
	{ID: "readme", Class: Document, Severity: Error, level: resultLevel,
		Advice: "write README.md: how to repeat the run", look: func(s *scope, b say) { s.documentThere("README.md", b) }},
	{ID: "source", Class: Document, Severity: Error, level: resultLevel,
		Advice: "put the code that ran the benchmark there", look: sourceThere},
}

var measurementFields = strings.Fields("input_data_types retraining starting_weights_filename weight_data_types weight_transformations")

func measurementsJSON(s *scope, breach say) {
	if d := s.result.measurements; d.err != nil {
		breach(d.path, "", d.err, "a JSON object")
	}
}

func measurementsMissing(s *scope, breach say) {
	for _, name := range measurementFields {
		if !s.result.measurements.has(name) {
			breach(s.result.measurements.path, name, "no such field", "a field "+name)
		}
	}
}

func measurementsEmpty(s *scope, breach say) {
	if s.o.SkipEmptyFields {
		return
	}
	for _, name := range measurementFields {
		if d := s.result.measurements; d.has(name) && d.empty(name) {
			breach(d.path, name, fmt.Sprintf("%q", shown(d.values[name])), "something meaningful")
		}
	}
}

func (s *scope) documentThere(name string, breach say) {
	file := path.Join(s.result.measured, name)
	size, ok := s.files.plainSize(file)
	switch {
	case !ok:
		breach(file, "", "no such file", "a file "+name)
	case size == 0 && !s.o.SkipEmptyFiles:
		breach(file, "", "an empty file", "something in it")
	}
}

func sourceThere(s *scope, breach say) {
	if _, ok := s.files.size(s.result.src); !ok {
		breach(s.result.src, "", "no such folder", "the submitter's code")
	}
}
