package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Groups of settings.
const (
	configGroup  = "setting"
	serverGroup  = "server"
	machineGroup = "machine"
	loadgenGroup = "loadgen"
	// of a tree
	systemGroup       = "system"
	measurementsGroup = "measurements"
)

// maxConfig bounds a config.yaml, in bytes.
const maxConfig = 1 << 20

func readRunFolder(_ context.Context, s *Source, folder string, _ Options) error {
	s.Results = append(s.Results, readRun(s, folder))
	return nil
}

// readRun reads a run's folder. Without a readable record the run is CRASHED, and has the results in LoadGen's logs.
func readRun(s *Source, folder string) *Result {
	r := &Result{Folder: folder, State: Crashed, Reasons: []string{}, tails: map[tail]float64{}}
	r.readConfig(s, folder)
	rec, err := record.Read(folder)
	if err != nil {
		r.Reasons = append(r.Reasons, err.Error())
		r.readLogs(s, filepath.Join(folder, record.LogFolder))
		return r
	}
	r.fill(rec)
	r.loadgen = rec.LoadGen.Result
	if rec.Mode == "performance" {
		if r.requests, err = ledger.ReadRequests(filepath.Join(folder, record.RequestsName)); err != nil {
			s.note("%s: without intervals, because the request log cannot be used: %v", folder, err)
			r.requests = nil
		}
	}
	return r
}

// readLogs reads the result from LoadGen's logs alone.
func (r *Result) readLogs(s *Source, folder string) {
	logs, err := mllog.Summarize(folder)
	if err != nil {
		s.note("LoadGen's logs cannot be read: %v", err)
		return
	}
	r.loadgen = logs.Result
	r.takeLoadGen()
}

// takeLoadGen copies the figures of LoadGen's keys.
func (r *Result) takeLoadGen() {
	if r.Scenario == "" {
		r.Scenario, _ = r.loadgen["effective_scenario"].(string)
	}
	if value, unit, ok := record.Figure(r.Scenario, r.loadgen); ok {
		r.Value, r.Unit = &value, unit
	}
	if n, ok := number(r.loadgen["effective_performance_sample_count"]); ok {
		r.Rows = strconv.FormatFloat(n, 'f', -1, 64)
	}
	if r.tails == nil {
		r.tails = map[tail]float64{}
	}
	for _, m := range measures {
		for _, p := range loadgenPercentiles {
			if ns, ok := number(r.loadgen[fmt.Sprintf(m.key, 100*p)]); ok {
				r.tails[tail{m.name, p}] = ns / 1e9
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.loadgen)) {
		if strings.HasPrefix(key, "effective_") {
			r.settings = append(r.settings, setting{loadgenGroup, key, fmt.Sprint(r.loadgen[key])})
		}
	}
}

// number returns a number of a LoadGen log, which this program's reader and JSON represent differently.
func number(v any) (float64, bool) {
	if v == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.Trim(fmt.Sprint(v), `"`), 64)
	return f, err == nil && f-f == 0
}

// fill copies the facts of a record.
func (r *Result) fill(rec *record.Record) {
	r.State = State(rec.Verdict)
	for _, c := range rec.Reasons {
		r.Reasons = append(r.Reasons, string(c.Code))
	}
	r.Benchmark, r.Scenario, r.Mode, r.Round = rec.Model, rec.Scenario, rec.Mode, rec.Round
	if rec.Audit() {
		r.Mode = "audit"
	}
	r.Rehearsal, r.Dataset, r.served = yesNo(rec.Rehearsal), rec.Dataset.SHA256, rec.ServedModel
	r.Rows = strconv.Itoa(rec.Dataset.Samples)
	if text, err := json.Marshal(rec.Sampling); err == nil {
		r.Sampling = string(text)
	}
	r.Limits = r.configuredLimits(rec)
	if value, unit, ok := record.Figure(rec.Scenario, rec.LoadGen.Result); ok && r.Mode == "performance" {
		r.Value, r.Unit = &value, unit
	}
	if rec.Accuracy != nil {
		r.Accuracy = scores(rec.Accuracy.Metrics, rec.Rehearsal)
	}
	r.addTail("TTFT", rec.LatencyS.TTFT)
	r.addTail("TPOT", rec.LatencyS.TPOT)
	r.addTail("request time", rec.LatencyS.E2E)
	r.addFacts(rec)
}

// addTail adds the percentiles of a latency.
func (r *Result) addTail(name string, stats *ledger.Stats) {
	if stats == nil {
		return
	}
	for p, v := range map[float64]float64{0.5: stats.P50, 0.9: stats.P90, 0.95: stats.P95, 0.99: stats.P99,
		0.999: stats.P999} {
		r.tails[tail{name, p}] = v
	}
}

// scores returns the scores of an accuracy test with their targets in one line.
func scores(metrics []accuracy.Metric, rehearsal bool) string {
	var words []string
	for _, m := range metrics {
		text := m.Name + " " + strings.Trim(m.Text, "'")
		if m.Pass != nil {
			text += " (" + m.Bounds() + ": " + m.Word(rehearsal) + ")"
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}

// addFacts adds the servers and the machine in the record to the settings.
func (r *Result) addFacts(rec *record.Record) {
	add := func(group, name, value string) {
		if value != "" {
			r.settings = append(r.settings, setting{group, name, value})
		}
	}
	add(machineGroup, "mlperf-go", rec.Tool.Version)
	add(machineGroup, "LoadGen", rec.Tool.LoadGen)
	add(machineGroup, "kernel", rec.Host.Kernel)
	add(machineGroup, "cpu", rec.Host.CPUModel)
	add(machineGroup, "cpus", strconv.Itoa(rec.Host.CPUsAllowed))
	if rec.BackendChoice != nil {
		for i, server := range rec.BackendChoice.Servers {
			add(serverGroup, fmt.Sprintf("version of endpoint %d", i), server.Version)
		}
	}
	if rec.Servers == nil {
		return
	}
	add(serverGroup, "replicas", strconv.Itoa(len(rec.Servers.Replicas)))
	for _, name := range slices.Sorted(maps.Keys(rec.Servers.Environment)) {
		add(serverGroup, "environment "+name, rec.Servers.Environment[name])
	}
	if len(rec.Servers.Replicas) > 0 {
		first := rec.Servers.Replicas[0]
		add(serverGroup, "version", first.Version)
		add(serverGroup, "command", strings.Join(first.Command, " "))
	}
}

func yesNo(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}

// limitText returns limits in one line.
func limitText(limits map[string]time.Duration) string {
	var words []string
	for _, what := range slices.Sorted(maps.Keys(limits)) {
		if limits[what] > 0 {
			words = append(words, fmt.Sprintf("%s %v", what, limits[what]))
		}
	}
	return strings.Join(words, ", ")
}

// configuredLimits returns the limits of a Server test: the judged limits, or those of the settings.
func (r *Result) configuredLimits(rec *record.Record) string {
	limits := map[string]time.Duration{}
	for _, t := range rec.Tails {
		limits[t.What] = t.Limit
	}
	if len(limits) == 0 && (rec.Scenario == "Server" || rec.Scenario == "Interactive") {
		for what, name := range map[string]string{"time to first token": "ttft-limit",
			"time per output token": "tpot-limit"} {
			limits[what], _ = time.ParseDuration(r.config(name)) // not set: no limit
		}
	}
	return limitText(limits)
}

// config returns a setting of config.yaml.
func (r *Result) config(name string) string {
	for _, s := range r.settings {
		if s.group == configGroup && s.name == name {
			return s.value
		}
	}
	return ""
}

// ownSettings differ between any two runs and change no result. The data set is compared by its hash.
var ownSettings = map[string]bool{"output-dir": true, "resume": true, "force": true, "shared-output": true,
	"dataset": true}

// readConfig reads the settings of config.yaml.
func (r *Result) readConfig(s *Source, folder string) {
	text, err := atomicfile.ReadBelow(folder, record.ConfigName, maxConfig)
	if err != nil {
		s.note("%s: without settings, because %s cannot be read: %v", folder, record.ConfigName, err)
		return
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) != 1 ||
		document.Content[0].Kind != yaml.MappingNode {
		s.note("%s: %s is not a YAML mapping", folder, record.ConfigName)
		return
	}
	pairs := document.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		name, value := pairs[i].Value, pairs[i+1].Value
		if pairs[i+1].Kind == yaml.SequenceNode {
			var items []string
			for _, item := range pairs[i+1].Content {
				items = append(items, item.Value)
			}
			value = strings.Join(items, ", ")
		}
		simulator := name == "endpoint" && strings.Contains(pairs[i].HeadComment+pairs[i+1].LineComment, "the simulator")
		if !ownSettings[name] && !simulator {
			r.settings = append(r.settings, setting{configGroup, name, value})
		}
	}
}
