package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/sim"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// valueKind describes the values of a flag or an argument: its placeholder in the help, and its words for completion.
type valueKind struct {
	placeholder string
	words       func() []string // nil: any text
	path        pathKind
}

// pathKind states whether a value is a path, which the shell completes itself.
type pathKind string

// The kinds of paths, as the completion scripts know them.
const (
	noPath  pathKind = ""
	anyFile pathKind = ":files"
	aFolder pathKind = ":folders"
)

var (
	anyText   = valueKind{placeholder: "TEXT"}
	file      = valueKind{placeholder: "FILE", path: anyFile}
	folder    = valueKind{placeholder: "DIR", path: aFolder}
	benchmark = valueKind{placeholder: "MODEL", words: modelNames}
)

func oneOf(words ...string) valueKind {
	return valueKind{placeholder: "NAME", words: func() []string { return words }}
}

// The scenarios that a tune and a sweep accept.
var (
	tuneScenarios  = []string{"Offline", "Server", "Interactive"}
	sweepScenarios = []string{"Server", "Interactive"}
)

// valueKinds describes the values of flags by the flags' names. If a flag has another meaning in one command, another
// line has the command's name too. Settings with a list of allowed values need no line.
var valueKinds = map[string]valueKind{
	"model": benchmark, "benchmark": benchmark, "sim --model": anyText,
	"scenario":        {placeholder: "NAME", words: scenarioNames},
	"tune --scenario": oneOf(tuneScenarios...), "sweep --scenario": oneOf(sweepScenarios...),
	"experiment offline-batching --scenario": oneOf("Offline"), "experiment partition --scenario": oneOf("Offline"),
	"round":    {placeholder: "ROUND", words: roundNames},
	"test":     {placeholder: "NAME", words: compliance.Tests},
	"backend":  {placeholder: "NAME", words: backends.Names},
	"division": oneOf(layout.Divisions()...), "system-type": oneOf("datacenter", "edge", "datacenter,edge"),
	"rehearsal-size": oneOf("tiny", "normal"),
	"log-level":      oneOf("debug", "info", "warn", "error"), "log-format": oneOf("console", "json"),
	"format": oneOf("json", "csv", "parquet", "npy", "pickle"), "to": oneOf("json", "jsonl", "csv", "parquet", "npy"),
	"form": oneOf("calls", "turns"), "pad-side": oneOf("right", "left"),
	"accuracy --dtype":          oneOf("int32", "int64", "float"),
	"compliance verify --dtype": oneOf("byte", "int16", "int32", "int64", "float32"),
	"sim --answers":             oneOf("reference", "echo", "random"),
	"sim --dialect":             {placeholder: "NAME", words: sim.Dialects},
	"sim --fault":               {placeholder: "NAME=RATE[,...]", words: faultNames},

	"endpoint": {placeholder: "URL"}, "proxy": {placeholder: "URL"}, "code-service": {placeholder: "URL"},
	"listen": {placeholder: "HOST:PORT"}, "set": {placeholder: "STEP.FLAG=VALUE"}, "only": {placeholder: "STEP"},
	"math-grader": {placeholder: "COMMAND"}, "seed-override": {placeholder: "N,N,N"},

	"config": file, "dataset": file, "dataset-config": file, "user-conf": file, "audit-config": file, "audit-file": file,
	"api-key-file": file, "ca-file": file, "client-cert": file, "client-key": file,
	"server-config": file, "system": file, "generation-config": file,
	"prompt-template": file, "lengths": file, "tokenizer": file, "code-tests": file, "model-file": file, "csv": file,
	"final-report": file, "ids": file, "password-file": file, "evaluation": file, "output": file, "plot": file,
	"ready-file": file, "answers": file, "log": file,
	"profile-dir": folder, "trace-spans": file, "profile-log": file,
	"output-dir": folder, "server-dir": folder, "model-path": folder, "python": file, "logs": folder, "backup": folder,
	"punkt": folder, "reference-accuracy": folder, "reference-performance": folder, "submission pack --output": folder,
	"submission build --output": folder, "skip": folder, "bench run --output": folder,
	"bench convert --output": folder, "nop --output": folder, "bench e2e --output": folder,
	"bench run --scenario": file, "bench e2e --scenario": file, "bench plan --scenario": file,
}

// argumentKinds describes the values of arguments by their words in a command's usage line.
var argumentKinds = map[string]valueKind{
	"FILE": file, "RUN...": folder, "[RUN...]": folder, "RUN|FILE": file, "IN...": file, "TREE": folder,
	"CAMPAIGN":   folder,
	"OUTPUT-DIR": folder, "[NAME]": benchmark, "NAME": benchmark,
}

func modelNames() []string {
	var names []string
	for _, r := range models.Rows() {
		names = append(names, r.Name)
	}
	return names
}

func scenarioNames() []string { return settingNamed("scenario").Enum }

func settingNamed(name string) config.Setting {
	s, _, err := config.RunSettings().Find(name)
	if err != nil {
		panic(err) // the name is a constant
	}
	return *s
}

func roundNames() []string {
	var names []string
	for _, r := range rounds.All() {
		names = append(names, r.Name)
	}
	return names
}

func faultNames() []string {
	names := faultWords()
	for i := range names {
		names[i] += "="
	}
	return names
}

func faultWords() []string {
	var names []string
	for _, f := range sim.FaultNames() {
		names = append(names, f.Name)
	}
	return names
}

// quoted finds the placeholder that a flag's help has in backquotes.
var quoted = regexp.MustCompile("`([^`]+)`")

// kindOf returns the values that a flag of a command accepts. command is the name after the program's.
func kindOf(command string, f cli.Flag) valueKind {
	name := f.Names()[0]
	kind, known := valueKinds[command+" --"+name]
	if !known {
		kind, known = valueKinds[name]
	}
	if s, _, err := config.RunSettings().Find(name); !known && err == nil && s != nil && s.Kind == config.Enum {
		kind, known = oneOf(s.Enum...), true
	}
	if m := quoted.FindStringSubmatch(usageLine(f)); m != nil {
		kind.placeholder, known = m[1], true
	}
	if known {
		return kind
	}
	return valueKind{placeholder: typedPlaceholder(name, f)}
}

// typedPlaceholder returns the placeholder of a value that only its type describes.
func typedPlaceholder(name string, f cli.Flag) string {
	kinds := map[config.Kind]string{config.Int: "N", config.Float: "X", config.Duration: "DURATION", config.Bytes: "BYTES"}
	if s, _, err := config.RunSettings().Find(name); err == nil && s != nil && kinds[s.Kind] != "" {
		return kinds[s.Kind]
	}
	switch f.(type) {
	case *cli.IntFlag, *cli.Int64Flag, *cli.Uint64Flag:
		return "N"
	case *cli.Float64Flag:
		return "X"
	case *cli.GenericFlag:
		return "DURATION"
	}
	return anyText.placeholder
}

func usageLine(f cli.Flag) string {
	if d, ok := f.(cli.DocGenerationFlag); ok {
		return d.GetUsage()
	}
	return ""
}

// takesValue reports whether a flag is followed by a value.
func takesValue(f cli.Flag) bool {
	_, isSwitch := f.(*cli.BoolFlag)
	return !isSwitch
}

// isVisible reports whether a flag is shown in the help.
func isVisible(f cli.Flag) bool {
	v, ok := f.(cli.VisibleFlag)
	return !ok || v.IsVisible()
}

// flagNamed returns the flag with a name; nil: the command has no such flag.
func flagNamed(flags []cli.Flag, name string) cli.Flag {
	i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil
	}
	return flags[i]
}

// dashes returns a flag with its dashes.
func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + strings.TrimPrefix(name, "--")
}
