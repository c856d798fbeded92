package config

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is how a setting's text is read.
type Kind string

// The kinds of settings.
const (
	String   Kind = "string"
	Strings  Kind = "strings"  // comma-separated, or a YAML list
	Int      Kind = "int"      // whole number
	Float    Kind = "float"    // finite number
	Duration Kind = "duration" // Go duration, or a bare whole number of seconds
	Bool     Kind = "bool"     // true/false, 1/0, yes/no, on/off
	Bytes    Kind = "bytes"    // bytes, or with KiB, MiB, GiB, TiB, kB, MB, GB, TB
	Enum     Kind = "enum"     // one of Setting.Enum in any letter case
)

// Range bounds a number; the zero Range takes everything from 0 up.
type Range struct {
	Positive bool    // 0 is refused too
	Negative bool    // numbers below 0 are allowed
	Max      float64 // largest value; 0: none
}

// Alias is another name of a setting.
type Alias struct {
	Name   string
	Value  string // for a switch that stands for one value, such as use-generic for model=generic; "" : takes a value
	Notice string // printed when the name is used; "": none
}

// Setting is one setting of a run: a flag, an environment name and a key of the configuration file.
type Setting struct {
	Name    string // in lower case with "-"
	Aliases []Alias
	Kind    Kind
	Enum    []string          // values of an Enum
	Values  map[string]string // other spellings of values, in lower case with "-"
	Range   Range
	Usage   string // one sentence with the unit
	Group   string // heading in the help text
	Default string // "": none, or decided by the run

	Secret  bool // never shown
	Ignored bool // accepted and without effect; Notice says why
	Hidden  bool // not in the help text
	Notice  string
}

// EnvName is the environment name of the setting, such as MLPERF_GO_TARGET_QPS.
func (s *Setting) EnvName() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Names returns the setting's name and then its aliases.
func (s *Setting) Names() []string {
	names := []string{s.Name}
	for _, a := range s.Aliases {
		names = append(names, a.Name)
	}
	return names
}

// Table is a list of settings; names and aliases are unique in it.
type Table []Setting

// Names returns the names of the settings that are shown, in table order.
func (t Table) Names() []string {
	var names []string
	for i := range t {
		if !t[i].Hidden {
			names = append(names, t[i].Name)
		}
	}
	return names
}

// Find returns the setting of a name or alias, and the alias where it was one. "_" counts as "-".
func (t Table) Find(name string) (*Setting, *Alias, error) {
	key := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	for i := range t {
		if t[i].Name == key {
			return &t[i], nil, nil
		}
		for j := range t[i].Aliases {
			if t[i].Aliases[j].Name == key {
				return &t[i], &t[i].Aliases[j], nil
			}
		}
	}
	return nil, nil, fmt.Errorf("setting %q is unknown%s", name, didYouMean(name, t.everyName()))
}

func (t Table) everyName() []string {
	var names []string
	for i := range t {
		names = append(names, t[i].Names()...)
	}
	return names
}

// check says which name stands twice in the table; a table is code, so a double name is a fault of the program.
func (t Table) check() error {
	names := t.everyName()
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return fmt.Errorf("setting %q stands twice in the table", n)
		}
	}
	return nil
}
