package dialect

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/config/strict"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/template"
)

// priorityMix is a tool whose mix is a program of its own, without a file.
const priorityMix = "priority-mix"

// Own is the name of this program's own form.
const Own = "mlperf-go"

// Options control how a file is translated.
type Options struct {
	Lookup         template.Lookup // values of its placeholders; nil: none
	KeepUnresolved bool            // placeholders without a value stay, with a note
	Overrides      []template.Pair // of the command line
	Compat         bool            // unknown keys are ignored, with a note
}

// harness is a tool whose files can be read.
type harness struct {
	file   any // pointer to the zero struct of its keys
	repair func(root *yaml.Node, notes *notes)
	read   func(file any, t *translation)
}

var harnesses = map[string]harness{
	"inference-perf": {&ipFile{}, repairInferencePerf,
		func(f any, t *translation) { f.(*ipFile).translate(t) }},
	"guidellm":       {&glFile{}, nil, func(f any, t *translation) { f.(*glFile).translate(t) }},
	"vllm-benchmark": {&vllmFile{}, flags, func(f any, t *translation) { f.(*vllmFile).translate(t) }},
	"inferencemax":   {&vllmFile{}, flags, inferenceMAX},
	"aiperf":         {&aiperfFile{}, flags, func(f any, t *translation) { f.(*aiperfFile).translate(t) }},
	"fmperf":         {&fmperfFile{}, nil, func(f any, t *translation) { f.(*fmperfFile).translate(t) }},
	"nop":            {&nopFile{}, nil, func(f any, t *translation) { f.(*nopFile).translate(t) }},
}

// Harnesses returns the names of the tools whose files can be read.
func Harnesses() []string { return slices.Sorted(maps.Keys(harnesses)) }

// notes collects one sentence for each part that was repaired, ignored or approximated.
type notes []string

func (n *notes) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }

// translation is a profile that a tool's file is translated into.
type translation struct {
	*profile.Profile
	root    *yaml.Node // of the file
	lenient bool       // unknown keys are ignored
	notes   notes
	failure error
}

// fail records the first reason why a file cannot be translated.
func (t *translation) fail(key, format string, args ...any) {
	if t.failure == nil {
		t.failure = fmt.Errorf("%s: %w", key, fmt.Errorf(format, args...))
	}
}

// Parse reads a file of a tool, or one in this program's own form. An empty tool is recognized by the file's keys.
func Parse(tool, name string, text []byte, o Options) (*profile.Profile, error) {
	var found notes
	root, err := readYAML(name, text, &found)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, fmt.Errorf("profile %s is empty", name)
	}
	if o.Lookup == nil {
		o.Lookup = template.Map(nil)
	}
	more, err := template.Expand(name, root, o.Lookup, o.KeepUnresolved)
	if err != nil {
		return nil, err
	}
	found = append(found, more...)
	if has(root, "schema") {
		return readOwn(name, root, o, found)
	}
	recognized, err := recognize(name, root)
	if tool == "" {
		if tool = recognized; err != nil {
			return nil, err
		}
	}
	h, ok := harnesses[tool]
	if tool == priorityMix {
		return nil, fmt.Errorf("profile %s: %s has no form of files that could be read; write the file in this program's "+
			"form (schema: %s), with api.classes: `mlperf-go bench init -w priority_mix --output mix.yaml` writes one to "+
			"change. There are readers for files of %s", name, tool, profile.Schema, strings.Join(Harnesses(), ", "))
	}
	if !ok {
		return nil, fmt.Errorf("profile %s: no reader for files of %.40q; there are readers for %s%s", name, tool,
			strings.Join(Harnesses(), ", "), config.DidYouMean(tool, Harnesses()))
	}
	p, err := h.parse(tool, name, root, o, found)
	if err != nil && recognized != "" && recognized != tool {
		return nil, fmt.Errorf("%w; the file looks like one of %s, and --harness is %s", err, recognized, tool)
	}
	return p, err
}

func (h harness) parse(tool, name string, root *yaml.Node, o Options, found notes) (*profile.Profile, error) {
	if h.repair != nil {
		h.repair(root, &found)
	}
	file := reflect.New(reflect.TypeOf(h.file).Elem())
	more, err := template.Override(root, o.Overrides, roots(file.Elem().Type()), nil)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	d := &strict.Decoder{Name: "profile " + name, Lenient: o.Compat}
	if err := d.Decode(root, file.Interface()); err != nil {
		return nil, err
	}
	t := &translation{Profile: profile.Defaults(), root: root, lenient: o.Compat,
		notes: slices.Concat(found, more, d.Notes)}
	t.Name = baseName(name)
	h.read(file.Interface(), t)
	if t.failure != nil {
		return nil, fmt.Errorf("profile %s: %w", name, t.failure)
	}
	if !t.API.Generates() { // other tools set limits of tokens and ignore them
		t.API.Stream, t.Data.Output = false, nil
	}
	t.Source = &profile.Source{Harness: tool, File: name, Notes: t.notes}
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("%s, read as a profile of %s: %w", name, tool, err)
	}
	return t.Profile, nil
}

// readOwn reads this program's own form. Overrides may use inference-perf's names of keys.
func readOwn(name string, root *yaml.Node, o Options, found notes) (*profile.Profile, error) {
	more, err := template.Override(root, o.Overrides, roots(reflect.TypeFor[profile.Profile]()), formerNames)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	p, err := profile.FromNode(name, root)
	if err != nil {
		return nil, err
	}
	if found = append(found, more...); len(found) > 0 {
		if p.Source == nil {
			p.Source = &profile.Source{Harness: Own, File: name}
		}
		p.Source.Notes = append(p.Source.Notes, found...)
	}
	return p, nil
}

// formerNames are keys of inference-perf that overrides of shipped profiles may use.
var formerNames = template.Names{
	"total_count": "data.rows", "input_distribution": "input", "output_distribution": "output",
	"num_requests": "requests", "concurrency_level": "concurrency", "std": "std_dev", "base_seed": "seed",
	"shared_prefix": "groups", "system_prompt_len": "system", "question_len": "question",
	"num_groups": "data.groups.count", "num_unique_system_prompts": "data.groups.count",
	"num_prompts_per_group": "data.groups.users", "num_users_per_system_prompt": "data.groups.users",
	"conversation_replay": "turns", "num_conversations": "conversations", "turns_per_conversation": "count",
	"max_model_len": "max_context", "model_name": "api.model", "base_url": "api.endpoint", "interval": "load.pause",
	"streaming": "stream", "request_timeout": "api.request_timeout",
}

// roots returns the top-level keys of a struct.
func roots(t reflect.Type) (keys []string) {
	for _, f := range strict.Fields(t) {
		keys = append(keys, f.Key)
	}
	return keys
}

// missingSpace is a line of a flat file whose key and value are not separated.
var missingSpace = regexp.MustCompile(`(?m)^([a-z][a-z-]*):([^\s:/][^:\n]*)$`)

// readYAML parses a file. If it is invalid and lines lack the space behind their colon, it repairs these lines.
func readYAML(name string, text []byte, found *notes) (*yaml.Node, error) {
	root, err := config.ReadYAML("profile "+name, bytes.NewReader(text))
	if err == nil || !missingSpace.Match(text) || len(text) > 1<<20 {
		return root, err
	}
	repaired, again := config.ReadYAML("profile "+name,
		bytes.NewReader(missingSpace.ReplaceAll(text, []byte("$1: $2"))))
	if again != nil {
		return nil, err
	}
	for _, m := range missingSpace.FindAllSubmatchIndex(text, -1) {
		line := 1 + bytes.Count(text[:m[0]], []byte("\n"))
		found.add("profile %s line %d: repaired %q: a space was missing", name, line, text[m[0]:m[1]])
	}
	return repaired, nil
}

// signs are keys by which files without a tool are recognized; the first row that matches decides.
var signs = []struct {
	tool string
	keys []string
}{
	{"guidellm", []string{"spec"}},
	{"guidellm", []string{"rate-type", "rate_type", "max_seconds", "max-seconds"}},
	{"fmperf", []string{"qps_values", "scenarios"}},
	{"vllm-benchmark", []string{"dataset-name", "num-prompts", "dataset_name", "num_prompts"}},
	{"aiperf", []string{"endpoint-type", "request-count", "isl", "custom-dataset-type"}},
	{"inference-perf", []string{"load", "server", "data", "api"}},
	{"nop", []string{"pvc_name"}},
}

func recognize(name string, root *yaml.Node) (string, error) {
	for _, s := range signs {
		if slices.ContainsFunc(s.keys, func(key string) bool { return has(root, key) }) {
			return s.tool, nil
		}
	}
	return "", fmt.Errorf("profile %s has no key of a known form; begin it with `schema: %s`, or name its tool with "+
		"--harness %s", name, profile.Schema, strings.Join(Harnesses(), "|"))
}

func has(root *yaml.Node, key string) bool { return get(root, key) != nil }

// get returns the value of a key of a map, or nil.
func get(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// cut removes a key of a map and returns its two nodes.
func cut(n *yaml.Node, key string) (keyNode, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			keyNode, value = n.Content[i], n.Content[i+1]
			n.Content = slices.Delete(n.Content, i, i+2)
			return keyNode, value
		}
	}
	return nil, nil
}

func baseName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".in"), ".yaml"), ".yml")
}

// or returns a value or, if the file lacks it, its default.
func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}
