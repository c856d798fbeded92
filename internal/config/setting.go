package config

import (
	"fmt"
	"strings"
)

// Kind selects the parser of a setting's text.
type Kind string

// The kinds of settings.
const (
	String   Kind = "string"
	Strings  Kind = "strings"  // list of texts, comma-separated or a YAML list
	Int      Kind = "int"      // whole number
	Float    Kind = "float"    // finite number
	Duration Kind = "duration" // Go duration, or a bare whole number of seconds
	Bool     Kind = "bool"     // true/false, 1/0, yes/no, on/off
	Bytes    Kind = "bytes"    // size in bytes, or with KiB, MiB, GiB, TiB, kB, MB, GB, TB
	Enum     Kind = "enum"     // one of Setting.Enum in any letter case
)

// Range limits a number. The zero Range accepts every number that is at least 0.
type Range struct {
	Positive bool    // whether to reject 0
	Negative bool    // whether to accept numbers below 0
	Max      float64 // largest value; 0 for no limit
}

// Alias is another name of a setting.
type Alias struct {
	Name   string
	Value  string // value that a switch sets, such as generic for use-generic; "": the alias has a value
	Notice string // message to print when the alias is used
}

// Setting describes one setting of a run: a flag, an environment variable and a key of the configuration file.
type Setting struct {
	Name    string // name of the setting: lower case, words joined by "-"
	Aliases []Alias
	Kind    Kind
	Enum    []string          // values of an Enum
	Values  map[string]string // other spellings of values, lower case with "-"
	Range   Range
	Usage   string // help text: one phrase, including the unit
	Group   string // heading of the setting in the help text
	Default string // default value; "": no default, or the run decides
	Bare    string // value if the flag is given without one; "": the flag needs a value

	Secret  bool   // whether the value must never be shown
	Ignored bool   // whether the setting is accepted without effect; Notice explains why
	Auto    bool   // whether the value "auto" means that the run decides, as without a value
	Hidden  bool   // whether the help text omits the setting
	Notice  string // message to print when the setting is used
}

// EnvName returns the setting's environment variable, such as MLPERF_GO_TARGET_QPS.
func (s *Setting) EnvName() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Names returns the setting's name, then its aliases.
func (s *Setting) Names() []string {
	names := []string{s.Name}
	for _, a := range s.Aliases {
		names = append(names, a.Name)
	}
	return names
}

// Table is a list of settings with unique names and aliases.
type Table []Setting

// Names returns the names of all settings that are not hidden, in table order.
func (t Table) Names() []string {
	var names []string
	for i := range t {
		if !t[i].Hidden {
			names = append(names, t[i].Name)
		}
	}
	return names
}

// Find returns the setting with that name or alias; alias is nil for a name. Letter case is ignored, and "_" equals
// "-".
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
	return nil, nil, &unknownSetting{name, t}
}

// unknownSetting is an error that searches for similar names only when its text is read, because most callers only need
// to know whether a flag is a setting.
type unknownSetting struct {
	name  string
	table Table
}

func (u *unknownSetting) Error() string {
	return fmt.Sprintf("unknown setting %q%s", u.name, DidYouMean(u.name, u.table.allNames()))
}

// allNames returns every name and alias, hidden ones included.
func (t Table) allNames() []string {
	var names []string
	for i := range t {
		names = append(names, t[i].Names()...)
	}
	return names
}
