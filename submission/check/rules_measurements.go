package check

import (
	"fmt"
	"path"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

func measured(s *scope) bool { return s.result.measurements.err == nil }

// measurementRules check the documents about the model (docs/reference/submission-rules.md#measurements).
var measurementRules = atLevel(resultLevel,
	Rule{ID: "measurements-json", Class: Document, check: measurementsJSON,
		Advice: "write measurements.json"},
	Rule{ID: "measurements-field-missing", Class: Document, when: []condition{measured}, check: measurementsMissing,
		Advice: "add the field"},
	Rule{ID: "measurements-field-empty", Class: Document, when: []condition{measured}, check: measurementsEmpty,
		Advice: "fill the field"},
	Rule{ID: "rehearsal-mark", Class: Rehearsal, Strict: true, when: []condition{measured}, check: rehearsalMark,
		Advice: "build the tree from full runs: this result is marked as a rehearsal"},
	Rule{ID: "user-conf", Class: Document, when: []condition{byLoadGen},
		check:  func(s *scope, b breachFunc) { s.documentThere(layout.UserConfName, b) },
		Advice: "put the run's user.conf there"},
	Rule{ID: "readme", Class: Document, check: func(s *scope, b breachFunc) { s.documentThere(layout.ReadmeName, b) },
		Advice: "write README.md: how to repeat the run"},
	Rule{ID: "source", Class: Document, check: sourceThere,
		Advice: "put the code that ran the benchmark there"},
)

func measurementsJSON(s *scope, breach breachFunc) {
	if d := s.result.measurements; d.err != nil {
		breach(d.path, "", d.err, "a JSON object")
	}
}

func measurementsMissing(s *scope, breach breachFunc) {
	for _, f := range layout.MeasurementFields {
		if !s.result.measurements.has(f.Name) {
			breach(s.result.measurements.path, f.Name, "no such field", "a field "+f.Name)
		}
	}
}

func measurementsEmpty(s *scope, breach breachFunc) {
	if s.o.SkipEmptyFields {
		return
	}
	for _, f := range layout.MeasurementFields {
		if d := s.result.measurements; d.has(f.Name) && d.empty(f.Name) {
			breach(d.path, f.Name, fmt.Sprintf("%q", shown(d.values[f.Name])), "a meaningful value")
		}
	}
}

func rehearsalMark(s *scope, breach breachFunc) {
	if d := s.result.measurements; truthy(d.values[layout.RehearsalKey]) {
		breach(d.path, layout.RehearsalKey, d.values[layout.RehearsalKey], "no such field")
	}
}

func (s *scope) documentThere(name string, breach breachFunc) {
	file := path.Join(s.result.measured, name)
	size, ok := s.files.plainSize(file)
	switch {
	case !ok:
		breach(file, "", "no such file", "a file "+name)
	case size == 0 && !s.o.SkipEmptyFiles:
		breach(file, "", "an empty file", "some content")
	}
}

func sourceThere(s *scope, breach breachFunc) {
	if _, ok := s.files.size(s.result.src); !ok {
		breach(s.result.src, "", "no such folder", "the submitter's code")
	}
}
