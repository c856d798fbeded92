package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/submission/check"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Limits on what is read of a tree, in addition to those of the check.
const (
	maxDescription = 4 << 20 // bytes of a system's description or of measurements
	mostRules      = 5       // number of rules named for an invalid result
)

// readTree reads the results of a submission tree. The official checker's rules for its round decide whether a result
// is valid.
func readTree(ctx context.Context, s *Source, root string, o Options) error {
	round := cmp.Or(o.Round, roundOf(root))
	if round == "" {
		round = rounds.Current
		s.note("no log has the seeds of a known round, so the rules of %s apply; choose others with --round", round)
	}
	report, err := check.Check(ctx, root, check.Options{Round: round, Mode: check.Compat, Submitter: o.Submitter,
		OnlyKnown: true})
	if err != nil {
		return err
	}
	of, err := rounds.Find(round)
	if err != nil {
		return err
	}
	for i := range report.Results {
		s.Results = append(s.Results, readPlace(s, root, of, report, &report.Results[i]))
	}
	if len(s.Results) == 0 {
		s.note("the tree has no results of a benchmark that this program supports")
	}
	return nil
}

// roundOf returns the round whose seeds a tree's first readable log has; "" if no log has any.
func roundOf(root string) string {
	for _, division := range layout.Divisions() {
		logs, _ := filepath.Glob(filepath.Join(root, division, "*", layout.ResultsName, "*", "*", "*",
			filepath.FromSlash(layout.PerformanceRun))) // the pattern is valid
		for _, folder := range logs {
			result, err := mllog.Summarize(folder)
			if err != nil || !inside(root, folder) {
				continue
			}
			for _, r := range rounds.All() {
				if fmt.Sprint(result.Result["effective_qsl_rng_seed"]) == strconv.FormatUint(r.Seeds.QSL, 10) {
					return r.Name
				}
			}
		}
	}
	return ""
}

// inside reports whether a folder is below the root when links are followed.
func inside(root, folder string) bool {
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false
	}
	realFolder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(realRoot, realFolder)
	return err == nil && filepath.IsLocal(rel)
}

// readPlace reads one scenario folder of a tree.
func readPlace(s *Source, root string, round *rounds.Round, report *check.Report, of *check.Result) *Result {
	r := &Result{Folder: filepath.Join(root, filepath.FromSlash(of.Path)), State: Valid, Reasons: []string{},
		Benchmark: cmp.Or(of.Model, of.Benchmark), Scenario: scenarioName(of.Scenario), Mode: "performance",
		Round: round.Name, Division: of.Division, Submitter: of.Submitter, System: of.System,
		Accelerator: of.Column("accelerator_model_name"), Accuracy: of.Column("Accuracy"), tails: map[tail]float64{}}
	r.Accelerators, _ = strconv.Atoi(of.Column("total_accelerators"))
	if !of.Valid {
		r.State, r.Reasons = Invalid, rulesOf(report, of.Path)
	}
	place := layout.Scenario{Submitter: layout.Submitter{Division: of.Division, Name: of.Submitter}, Round: round,
		SystemID: of.System, Benchmark: of.Benchmark, Name: filepath.Base(filepath.FromSlash(of.Path))}
	r.addDescription(root, place.Submitter.System(of.System), systemGroup)
	marked := r.addDescription(root, place.Measurements(), measurementsGroup)
	if v, found := marked[layout.RehearsalKey]; found {
		r.Rehearsal = yesNo(v == true)
	} else {
		r.Rehearsal = yesNo(false)
	}
	folder := filepath.Join(root, filepath.FromSlash(place.Performance()))
	if !inside(root, folder) {
		s.note("%s is missing or a link out of the tree, so it is not read", folder)
		return r
	}
	r.readLogs(s, folder)
	r.Limits = loggedLimits(filepath.Join(folder, mllog.DetailName))
	if r.Value == nil && of.Metric != 0 {
		r.Value, r.Unit = &of.Metric, of.Unit
	}
	return r
}

// scenarioName returns a scenario as this program spells it.
func scenarioName(folder string) string {
	for _, s := range models.Scenarios() {
		if strings.EqualFold(string(s), folder) {
			return string(s)
		}
	}
	return folder
}

// rulesOf returns the first rules that a result breaks.
func rulesOf(report *check.Report, path string) []string {
	rules := []string{}
	for _, f := range report.Findings {
		if f.Severity == check.Error && (f.Place == path || strings.HasPrefix(f.Place, path+"/")) &&
			!slices.Contains(rules, f.Rule) && len(rules) < mostRules {
			rules = append(rules, f.Rule)
		}
	}
	return rules
}

// addDescription adds the fields of a JSON file to the settings, and returns them. It returns none if the file cannot
// be read.
func (r *Result) addDescription(root, path, group string) map[string]any {
	text, err := atomicfile.ReadBelow(root, filepath.FromSlash(path), maxDescription)
	if err != nil {
		return nil
	}
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if value := fmt.Sprint(fields[name]); value != "" {
			r.settings = append(r.settings, setting{group, name, value})
		}
	}
	return fields
}

// loggedLimits returns the latency limits of a Server test in LoadGen's log.
func loggedLimits(path string) string {
	logged := map[string]any{}
	_, err := mllog.ReadDetailFile(path, func(e *mllog.Entry) error {
		if strings.HasPrefix(e.Key, "requested_") || strings.HasPrefix(e.Key, "effective_") {
			logged[e.Key] = e.Value.Text()
		}
		return nil
	})
	if err != nil && len(logged) == 0 || logged["requested_scenario"] != "Server" {
		return ""
	}
	limits := map[string]time.Duration{}
	keys := map[string]string{"latency": "effective_target_latency_ns"}
	if logged["requested_use_token_latencies"] == "true" {
		keys = map[string]string{"time to first token": "requested_server_ttft_latency",
			"time per output token": "requested_server_tpot_latency"}
	}
	for what, key := range keys {
		if ns, ok := number(logged[key]); ok {
			limits[what] = time.Duration(ns)
		}
	}
	return limitText(limits)
}
