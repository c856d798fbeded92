package check

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// scenarioRules check the names of benchmark and scenario folders, and the files that every result has
// (docs/reference/submission-rules.md#benchmarks-and-scenarios).
var scenarioRules = []Rule{
	{ID: "benchmark-known", Class: Tree, level: benchmarkLevel, check: benchmarkKnown,
		Advice: "take the official name of a text benchmark of this round (in open also one that " +
			"model_mapping.json maps); other benchmarks are the official checker's business"},
	{ID: "benchmark-empty", Class: Tree, Strict: true, level: benchmarkLevel, check: benchmarkEmpty,
		Advice: "add the scenarios' folders, or remove the benchmark's"},
	{ID: "scenario-missing", Class: Tree, level: benchmarkLevel, when: []condition{enforced}, check: scenarioMissing,
		Advice: "run the scenario, or submit in open"},
	{ID: "scenario-unknown", Class: Tree, level: benchmarkLevel, when: []condition{enforced}, check: scenarioUnknown,
		Advice: "remove the folder, or submit in open"},
	{ID: "scenario-spelling", Class: Tree, level: resultLevel, check: scenarioSpelling,
		Advice: "rename the folder"},
	{ID: "scenario-case", Class: Tree, Severity: Warning, Strict: true, level: resultLevel, check: scenarioCase,
		Advice: "rename the folder: the official checkers accept lower case, and their summary prints it"},
	{ID: "accuracy-files", Class: Tree, Strict: true, level: resultLevel, when: []condition{byLoadGen},
		check:  accuracyFiles,
		Advice: "keep only LoadGen's files and accuracy.txt in the folder"},
	{ID: "performance-files", Class: Tree, Strict: true, level: resultLevel, when: []condition{byLoadGen},
		check:  performanceFiles,
		Advice: "keep only LoadGen's files in the folder, and spl.txt if power was measured"},
	{ID: "power", Class: Run, Severity: Warning, level: resultLevel, check: powerMeasured,
		Advice: "check power measurements with the Power working group's tools; this program has no rules for them"},
}

func benchmarkKnown(s *scope, breach breachFunc) {
	if s.bench == nil {
		breach(s.path, "", s.name, "a benchmark of round "+s.round.Name)
		return
	}
	if _, ok := s.set(); !ok && enforced(s) && s.typed() {
		kind, _ := s.sut().text("system_type")
		breach(s.path, "", s.name+" on a system of type "+kind, "a benchmark for such systems in round "+s.round.Name)
	}
}

// typed reports whether the system's type is valid; otherwise another rule reports it.
func (s *scope) typed() bool {
	bad := false
	systemType(s, func(string, string, any, any) { bad = true })
	return !bad
}

func benchmarkEmpty(s *scope, breach breachFunc) {
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

func scenarioMissing(s *scope, breach breachFunc) {
	set, ok := s.set()
	if !ok || len(s.down) == 0 { // another rule reports an empty folder
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

func scenarioUnknown(s *scope, breach breachFunc) {
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

// scenarioSpelling accepts the two spellings of the official summary: canonical and all lower case.
func scenarioSpelling(s *scope, breach breachFunc) {
	official := canonical(s.name)
	if s.name != official && (official == "" || s.name != strings.ToLower(s.name)) {
		breach(s.path, "", s.name, orScenario(official))
	}
}

func scenarioCase(s *scope, breach breachFunc) {
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

// tolerated lists extra files that are accepted in every folder.
var tolerated = []string{mllog.TraceName, "results.json", ".gitkeep"}

func accuracyFiles(s *scope, breach breachFunc) {
	s.compareFiles(s.path+"/accuracy", []string{mllog.SummaryName, mllog.DetailName, layout.ScoreFile, mllog.AccuracyName},
		nil, breach)
}

func performanceFiles(s *scope, breach breachFunc) {
	optional := []string{mllog.AccuracyName}
	if s.hasPower() {
		optional = append(optional, powerLogName)
	}
	s.compareFiles(s.path+"/"+layout.PerformanceRun, []string{mllog.SummaryName, mllog.DetailName}, optional, breach)
}

// powerLogName is the power analyzer's log, which is beside LoadGen's if power was measured.
const powerLogName = "spl.txt"

func (c *checker) compareFiles(folder string, needed, optional []string, breach breachFunc) {
	l := c.files.list(folder)
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

func powerMeasured(s *scope, breach breachFunc) {
	if s.hasPower() {
		breach(s.path+"/"+layout.Performance+"/"+layout.PowerName, "", "a power measurement",
			fmt.Sprintf("none in round %s as far as this program checks", s.round.Name))
	}
}

func (s *scope) hasPower() bool {
	_, ok := s.files.size(path.Join(s.path, layout.Performance, layout.PowerName))
	return ok
}
