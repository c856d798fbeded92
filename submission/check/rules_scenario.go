package check

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// scenarioRules look at the names of benchmark and scenario folders, and at files that every result has
// (docs/reference/submission-rules.md#benchmarks-and-scenarios).
var scenarioRules = []Rule{
	{ID: "benchmark-known", Class: Tree, Severity: Error, level: benchmarkLevel,
		Advice: "take the official name of a language or vision-language benchmark of this round (in open also one that " +
			"model_mapping.json maps); other benchmarks are the official checker's business", look: benchmarkKnown},
	{ID: "benchmark-empty", Class: Tree, Severity: Error, Strict: true, level: benchmarkLevel,
		Advice: "add the scenarios' folders, or remove the benchmark's", look: benchmarkEmpty},
	{ID: "scenario-missing", Class: Tree, Severity: Error, level: benchmarkLevel, when: []condition{enforced},
		Advice: "run the scenario, or submit in open", look: scenarioMissing},
	{ID: "scenario-unknown", Class: Tree, Severity: Error, level: benchmarkLevel, when: []condition{enforced},
		Advice: "remove the folder, or submit in open", look: scenarioUnknown},
	{ID: "scenario-spelling", Class: Tree, Severity: Error, level: resultLevel,
		Advice: "rename the folder", look: scenarioSpelling},
	{ID: "scenario-case", Class: Tree, Severity: Warning, Strict: true, level: resultLevel,
		Advice: "rename the folder: the official checkers accept lower case, and their summary prints it",
		look:   scenarioCase},
	{ID: "accuracy-files", Class: Tree, Severity: Error, Strict: true, level: resultLevel, when: []condition{byLoadGen},
		Advice: "leave LoadGen's files and accuracy.txt alone in the folder", look: accuracyFiles},
	{ID: "performance-files", Class: Tree, Severity: Error, Strict: true, level: resultLevel, when: []condition{byLoadGen},
		Advice: "leave LoadGen's files alone in the folder, and spl.txt where power was measured", look: performanceFiles},
	{ID: "power", Class: Run, Severity: Warning, level: resultLevel,
		Advice: "check power measurements with the Power working group's tools; this program knows no rule about them",
		look:   powerMeasured},
}

func benchmarkKnown(s *scope, breach say) {
	if s.bench == nil {
		breach(s.path, "", s.name, "a benchmark of round "+s.round.Name)
		return
	}
	if _, ok := s.set(); !ok && enforced(s) && s.typed() {
		kind, _ := s.sut().text("system_type")
		breach(s.path, "", s.name+" on a system of type "+kind, "a benchmark for such systems in round "+s.round.Name)
	}
}

// typed: the system's kind is one that the rules know; else another rule speaks.
func (s *scope) typed() bool {
	bad := false
	systemType(s, func(string, string, any, any) { bad = true })
	return !bad
}

func benchmarkEmpty(s *scope, breach say) {
	if len(s.down) == 0 {
		breach(s.path, "", "no scenario folder", "at least one")
	}
}

func (s *scope) folders() []string {
	var names []string
	for _, d := range s.down {
		names = append(names, strings.ToLower(d.name))
	}
	return names
}

func scenarioMissing(s *scope, breach say) {
	set, ok := s.set()
	if !ok || len(s.down) == 0 { // an empty folder has no result that could miss one
		return
	}
	has := s.folders()
	for _, name := range set.Required {
		if !slices.Contains(has, strings.ToLower(name)) {
			breach(s.path, name, "no folder "+name, "the required scenario "+name)
		}
	}
	oneOf := slices.Contains(set.Optional, "Interactive") && slices.Contains(set.Optional, "Server")
	if oneOf && !slices.Contains(has, "interactive") && !slices.Contains(has, "server") {
		breach(s.path, "Interactive or Server", "neither", "at least one of Interactive and Server")
	}
}

func scenarioUnknown(s *scope, breach say) {
	set, ok := s.set()
	if !ok {
		return
	}
	known := slices.Concat(set.Required, set.Optional)
	for _, d := range s.down {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, d.name) }) {
			breach(d.path, d.name, "a folder "+d.name, strings.Join(known, ", "))
		}
	}
}

// scenarioSpelling: the official summary knows the canonical and the all lower-case spelling.
func scenarioSpelling(s *scope, breach say) {
	official := canonical(s.name)
	if s.name != official && (official == "" || s.name != strings.ToLower(s.name)) {
		breach(s.path, "", s.name, orScenario(official))
	}
}

func scenarioCase(s *scope, breach say) {
	if official := canonical(s.name); s.name != official && s.name == strings.ToLower(s.name) && official != "" {
		breach(s.path, "", s.name, official)
	}
}

func orScenario(official string) string {
	if official == "" {
		return "a scenario's name"
	}
	return official
}

// tolerated are the strays that no list of files minds.
var tolerated = []string{mllog.TraceName, "results.json", ".gitkeep"}

func accuracyFiles(s *scope, breach say) {
	s.compareFiles(s.path+"/accuracy", []string{mllog.SummaryName, mllog.DetailName, layout.ScoreFile, mllog.AccuracyName},
		nil, breach)
}

func performanceFiles(s *scope, breach say) {
	optional := []string{mllog.AccuracyName}
	if s.hasPower() {
		optional = append(optional, powerLogName)
	}
	s.compareFiles(s.path+"/"+layout.PerformanceRun, []string{mllog.SummaryName, mllog.DetailName}, optional, breach)
}

// powerLogName is the power analyzer's log, which lies beside LoadGen's where power was measured.
const powerLogName = "spl.txt"

func (s *scope) compareFiles(folder string, needed, optional []string, breach say) {
	l := s.files.list(folder)
	if l.err != nil {
		breach(folder, "", l.err, "a folder with "+strings.Join(needed, ", "))
		return
	}
	for _, name := range needed {
		if !slices.Contains(l.plain, name) {
			breach(folder+"/"+name, "", "no such file", name)
		}
	}
	allowed := slices.Concat(needed, optional, tolerated)
	for _, name := range l.plain {
		if !slices.Contains(allowed, name) {
			breach(folder+"/"+name, "", "a file "+name, "only "+strings.Join(needed, ", "))
		}
	}
}

func powerMeasured(s *scope, breach say) {
	if s.hasPower() {
		breach(s.path+"/"+layout.Performance+"/"+layout.PowerName, "", "a power measurement",
			fmt.Sprintf("none in round %s as far as this program checks", s.round.Name))
	}
}

func (s *scope) hasPower() bool {
	_, ok := s.files.size(path.Join(s.path, layout.Performance, layout.PowerName))
	return ok
}
