package check

import (
	"fmt"
	"path"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

func measured(s *scope) bool { return s.result.measurements.err == nil }

// measurementRules look at what says how the model was made (docs/reference/submission-rules.md#measurements).
var measurementRules = []Rule{
	{ID: "measurements-json", Class: Document, Severity: Error, level: resultLevel,
		Advice: "write measurements.json", look: measurementsJSON},
	{ID: "measurements-field-missing", Class: Document, Severity: Error, level: resultLevel, when: []condition{measured},
		Advice: "add the field", look: measurementsMissing},
	{ID: "measurements-field-empty", Class: Document, Severity: Error, level: resultLevel, when: []condition{measured},
		Advice: "fill the field", look: measurementsEmpty},
	{ID: "rehearsal-mark", Class: Rehearsal, Severity: Error, Strict: true, level: resultLevel,
		when:   []condition{measured},
		Advice: "build the tree of real runs: this one says of itself that it is a rehearsal", look: rehearsalMark},
	{ID: "user-conf", Class: Document, Severity: Error, level: resultLevel, when: []condition{byLoadGen},
		Advice: "put the run's user.conf there", look: func(s *scope, b say) { s.documentThere(layout.UserConfName, b) }},
	{ID: "readme", Class: Document, Severity: Error, level: resultLevel,
		Advice: "write README.md: how to repeat the run",
		look:   func(s *scope, b say) { s.documentThere(layout.ReadmeName, b) }},
	{ID: "source", Class: Document, Severity: Error, level: resultLevel,
		Advice: "put the code that ran the benchmark there", look: sourceThere},
}

func measurementsJSON(s *scope, breach say) {
	if d := s.result.measurements; d.err != nil {
		breach(d.path, "", d.err, "a JSON object")
	}
}

func measurementsMissing(s *scope, breach say) {
	for _, f := range layout.MeasurementFields {
		if !s.result.measurements.has(f.Name) {
			breach(s.result.measurements.path, f.Name, "no such field", "a field "+f.Name)
		}
	}
}

func measurementsEmpty(s *scope, breach say) {
	if s.o.SkipEmptyFields {
		return
	}
	for _, f := range layout.MeasurementFields {
		if d := s.result.measurements; d.has(f.Name) && d.empty(f.Name) {
			breach(d.path, f.Name, fmt.Sprintf("%q", shown(d.values[f.Name])), "something meaningful")
		}
	}
}

func rehearsalMark(s *scope, breach say) {
	if d := s.result.measurements; truthy(d.values[layout.RehearsalKey]) {
		breach(d.path, layout.RehearsalKey, d.values[layout.RehearsalKey], "no such field")
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
