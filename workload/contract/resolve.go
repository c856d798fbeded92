package contract

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/workload/catalog"
	"github.com/mlperf-go/mlperf-go/workload/dialect"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/stack"
	"github.com/mlperf-go/mlperf-go/workload/template"
)

func harnessNames() string { return strings.Join(catalog.Harnesses(), ", ") }

// Flags are the flags of a command line: long name to values. Switches have the value "true".
type Flags map[string][]string

// Invocation is a resolved command line.
type Invocation struct {
	values  map[string][]string
	file    *catalog.File
	options dialect.Options
	study   *template.Experiment // nil: one run
	method  string               // of the stack
	place   string               // namespace of the stack
	set     map[string]string    // placeholders of --set-env

	dataFlag bool   // whether a flag names the data file
	workDir  string // folder whose results/ gets runs without an output folder; empty: the working folder
}

// Resolve finds the profile of a command line. notes report lines of the scenario file that were ignored, and flags
// that have no effect.
func Resolve(flags Flags, environ template.Lookup) (v *Invocation, notes []string, err error) {
	v = &Invocation{values: map[string][]string{}}
	file, notes, err := scenarioOf(flags, environ)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range Settings() {
		switch values := flags[s.Flag]; {
		case s.Flag != "" && len(values) > 0:
			v.values[s.Flag] = values
			if s.Place == Cluster {
				notes = append(notes, fmt.Sprintf("--%s has no meaning without a cluster and is ignored", s.Flag))
			}
		case s.Flag != "":
			if value := cmp.Or(fromVariables(s, template.Map(file)), fromVariables(s, environ)); value != "" {
				v.values[s.Flag] = []string{value}
			}
		}
	}
	all, err := ClusterVariables(flags, environ)
	if err != nil {
		return nil, nil, err
	}
	v.Stack(cmp.Or(all[methods], stack.Local), cmp.Or(all[namespace], defaultNamespace))
	if err := v.find(); err != nil {
		return nil, nil, err
	}
	v.options = dialect.Options{KeepUnresolved: v.has(keep), Compat: v.has(compat)}
	// The flag parser splits a value at its commas, also within quotes and brackets. Joining the parts restores it.
	joined := strings.Join(v.values[overrides], ",")
	if v.options.Overrides, err = template.ParseOverrides([]string{joined}); err != nil {
		return nil, nil, err
	}
	if v.set, err = assignments(v.values[setEnv]); err != nil {
		return nil, nil, err
	}
	v.options.Lookup = template.First(template.Map(v.set), template.Map(v.variables()), template.Map(file), environ)
	v.dataFlag = len(flags[dataset]) > 0
	v.workDir, _ = template.First(template.Map(file), environ)(workDir)
	return v, notes, v.readTreatments()
}

// currentModel is the placeholder of the model that a run is for.
const currentModel = "LLMDBENCH_DEPLOY_CURRENT_MODEL"

// defaultNamespace is llm-d-benchmark's for stacks.
const defaultNamespace = "llmdbench"

// Stack sets how and where the stack was deployed, for the placeholders of its name. The namespace may be
// STACK,HARNESS.
func (v *Invocation) Stack(method, namespace string) {
	v.method = method
	v.place, _, _ = strings.Cut(namespace, ",")
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func (v *Invocation) has(flag string) bool { return first(v.values[flag]) == "true" }

// Value returns a setting's value; empty: it is not set.
func (v *Invocation) Value(flag string) string { return first(v.values[flag]) }

// WorkDir returns the folder whose results/ gets runs without an output folder; empty: the working folder.
func (v *Invocation) WorkDir() string { return v.workDir }

// Values returns the values of a setting that may be repeated.
func (v *Invocation) Values(flag string) []string { return v.values[flag] }

func fromVariables(s Setting, lookup template.Lookup) string {
	if lookup == nil {
		return ""
	}
	for _, name := range s.Variables {
		if value, ok := lookup(name); ok && value != "" {
			return value
		}
	}
	return ""
}

// ClusterVariables returns the settings of a cluster that the scenario file and the environment determine, by flag. The
// scenario file precedes. Of the namespaces, LLMDBENCH_VLLM_COMMON_NAMESPACE names the stack's and
// LLMDBENCH_HARNESS_NAMESPACE the launcher's.
func ClusterVariables(flags Flags, environ template.Lookup) (map[string]string, error) {
	file, _, err := scenarioOf(flags, environ)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, lookup := range []template.Lookup{environ, template.Map(file)} {
		for _, s := range Settings() {
			value := fromVariables(s, lookup)
			if s.Flag == namespace {
				value = cmp.Or(namespaces(lookup), value)
			}
			if s.Place == Cluster && value != "" {
				all[s.Flag] = value
			}
		}
	}
	return all, nil
}

// namespaces returns STACK,HARNESS where both have a variable of their own.
func namespaces(lookup template.Lookup) string {
	of := func(name string) string { return fromVariables(Setting{Variables: []string{name}}, lookup) }
	stack, harness := of("LLMDBENCH_VLLM_COMMON_NAMESPACE"), of("LLMDBENCH_HARNESS_NAMESPACE")
	if stack == "" || harness == "" || of("LLMDBENCH_NAMESPACE") != "" {
		return ""
	}
	return stack + "," + harness
}

// scenarioOf returns the variables of the scenario file of a command line; none without one.
func scenarioOf(flags Flags, environ template.Lookup) (values map[string]string, notes []string, err error) {
	path := first(flags[scenario])
	if path == "" && environ != nil {
		path, _ = environ("LLMDBENCH_DEPLOY_SCENARIO")
	}
	if path == "" {
		return nil, nil, nil
	}
	return readScenario(path, environ)
}

func readScenario(path string, environ template.Lookup) (map[string]string, []string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("cannot read the scenario file: %w; here --scenario is a file of variables, and a "+
			"workload has no scenario of MLPerf such as Server: the stages of its profile determine the load", err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the scenario file: %w", err)
	}
	defer f.Close()
	return template.Scenario(path, f, environ)
}

// ErrNoWorkload is the error of a command line without a profile.
var ErrNoWorkload = errors.New("no workload is given")

// find looks up the profile. The name of a file is that file.
func (v *Invocation) find() (err error) {
	harness, name := v.Value(Harness), v.Value(Workload)
	if path := v.Value(file); path != "" {
		v.file, err = catalog.Open(harness, path)
		return err
	}
	if name == "" {
		return ErrNoWorkload
	}
	if s, failed := os.Stat(name); failed == nil && s.Mode().IsRegular() {
		v.file, err = catalog.Open(harness, name)
		return err
	}
	v.file, err = catalog.Find(harness, name, v.values[folders]...)
	return err
}

// variables returns the values of placeholders that follow from the command line's settings.
func (v *Invocation) variables() map[string]string {
	known := map[string]string{}
	add := func(value string, names ...string) {
		for _, name := range names {
			if value != "" {
				known[name] = value
			}
		}
	}
	add(v.Value(Endpoint), "LLMDBENCH_HARNESS_STACK_ENDPOINT_URL")
	if path := v.Value(dataset); path != "" {
		add(path, "LLMDBENCH_RUN_DATASET_FILE", "LLMDBENCH_RUN_DATASET_DIR")
		if s, err := os.Stat(path); err == nil && !s.IsDir() {
			add(filepath.Dir(path), "LLMDBENCH_RUN_DATASET_DIR")
		}
	}
	return known
}

// assignments returns the values of NAME=VALUE.
func assignments(pairs []string) (map[string]string, error) {
	set := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--%s: expected NAME=VALUE, not %.60q", setEnv, pair)
		}
		set[name] = value
	}
	return set, nil
}

func (v *Invocation) readTreatments() error {
	path := v.Value(treatment)
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot read the treatments: %w", err)
	}
	defer f.Close()
	v.study, err = template.ReadExperiment(path, f)
	return err
}

// Rendered is a profile that is ready to run.
type Rendered struct {
	Name    string // of the profile and its treatment; it fits a file name
	Model   string // one of the models; empty: the profile's
	Server  string // one of several servers that get runs of their own; empty: there is one
	Profile *profile.Profile
	several bool // whether there are several models
}

// Folder names the run among others: the server and the model are part of it if there are several.
func (r *Rendered) Folder() string {
	name := r.Name
	if r.several {
		name = plainName(r.Model) + "-" + name
	}
	if r.Server != "" {
		name = plainName(r.Server) + "-" + name
	}
	return name
}

// Render returns the profiles: one for each model and treatment.
func (v *Invocation) Render() ([]Rendered, error) {
	treatments := []template.Treatment{{}}
	if v.study != nil {
		treatments = v.study.Treatments
	}
	models := strings.Split(v.Value(Model), ",")
	var list []Rendered
	folders := map[string]bool{}
	for _, model := range models {
		for _, t := range treatments {
			err := v.checkOverrides(t)
			var p *profile.Profile
			if err == nil {
				p, err = v.render(t, strings.TrimSpace(model))
			}
			if err != nil {
				return nil, v.treatmentOf(t, err)
			}
			name := p.Name
			if t.Name != "" {
				name += "-" + t.Name
			}
			r := Rendered{Name: plainName(name), Model: strings.TrimSpace(model), Profile: p, several: len(models) > 1}
			if folders[r.Folder()] {
				return nil, fmt.Errorf("two runs have the name %q, and each needs a folder: give every treatment a name of its "+
					"own, and name each model once", r.Folder())
			}
			folders[r.Folder()] = true
			list = append(list, r)
		}
	}
	return list, nil
}

func (v *Invocation) render(t template.Treatment, model string) (*profile.Profile, error) {
	f, o := v.file, v.options
	if t.Profile != "" {
		other, err := catalog.Find(v.Value(Harness), t.Profile, v.values[folders]...)
		if err != nil {
			return nil, err
		}
		f = other
	}
	if model != "" {
		o.Lookup = template.First(template.Map(v.set), template.Map(map[string]string{currentModel: model}), o.Lookup,
			template.Map(stack.Variables(v.method, v.place, model))) // a variable of the user's takes precedence
	}
	if v.study != nil { // so that the command line changes constants, and no treatment into another one
		o.Overrides = slices.Concat(v.study.Constants, o.Overrides, t.Overrides)
	}
	p, err := f.Read(o)
	if err != nil {
		return nil, err
	}
	return p, v.setData(p)
}

// setData makes the data file of the command line that of a profile. A file that would not be read is an error if a
// flag names it; a variable may be meant for other profiles.
func (v *Invocation) setData(p *profile.Profile) error {
	path := v.Value(dataset)
	if path == "" {
		return nil
	}
	if p.Data.Path != "" {
		p.Data.Path = path
		return nil
	}
	text, err := p.Encode()
	if err != nil || !v.dataFlag || bytes.Contains(text, []byte(path)) { // a placeholder may have put it elsewhere
		return err
	}
	return fmt.Errorf("--%s %s: profile %s would not read it, because data of kind %s have no file; remove the flag, or "+
		"give a profile with data.path", dataset, path, p.Name, p.Data.Kind)
}

// treatmentOf returns the error of a treatment's profile with its place in the file of treatments.
func (v *Invocation) treatmentOf(t template.Treatment, err error) error {
	if err == nil || v.study == nil {
		return err
	}
	return fmt.Errorf("experiment %s line %d: treatment %s: %w", v.study.File, t.Line, t.Name, err)
}

// checkOverrides rejects an override of the command line that a treatment sets too: one of both would have no effect.
func (v *Invocation) checkOverrides(t template.Treatment) error {
	for _, p := range t.Overrides {
		if slices.ContainsFunc(v.options.Overrides, func(o template.Pair) bool { return o.Key == p.Key }) {
			return fmt.Errorf("it sets %s, and so does --%s; remove one of them", p.Key, overrides)
		}
	}
	return nil
}

// StopOnError reports whether the first failed treatment ends the series.
func (v *Invocation) StopOnError() bool { return v.study != nil && v.study.StopOnError }

// Attempts returns how often a treatment may be tried.
func (v *Invocation) Attempts() int {
	if v.study == nil {
		return 1
	}
	return v.study.MaxAttempts
}

// plainName replaces characters that do not fit a file name.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' || r == ':' {
			return '-'
		}
		return r
	}, name)
}
