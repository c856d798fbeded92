package config

import (
	"fmt"
	"slices"
	"strings"
)

const envPrefix = "MLPERF_GO_"

// Layer is a source of values. Values of a higher layer take precedence.
type Layer int

// The layers, lowest first.
const (
	FromDefault Layer = iota
	FromProgram       // value decided by the run; Origin.Where explains how
	FromRegistry
	FromFile
	FromUserConf
	FromEnvironment
	FromFlag
)

var layerNames = [...]string{"default", "", "model registry", "config file", "user.conf", "environment", "flag"}

func (l Layer) String() string { return layerNames[l] }

// Origin is the source of a value.
type Origin struct {
	Layer Layer
	Where string // flag, environment variable, file with line, benchmark, or free text
}

func (o Origin) String() string {
	if o.Where == "" {
		return o.Layer.String()
	}
	return strings.TrimLeft(o.Layer.String()+" "+o.Where, " ")
}

// of describes a setting and the source of its value for messages. For a flag it returns only the flag's name.
func (o Origin) of(name string) string {
	if o == (Origin{FromFlag, "--" + name}) {
		return o.Where
	}
	return o.String() + ": " + name
}

// Effective is the configuration of a run: the values of its settings, and how they are set.
//
// Effective must not be used concurrently while values are being set.
type Effective struct {
	Values
	notices []string
}

// New returns a configuration in which every setting has its default. It panics if two settings share a name or alias.
func New(table Table) *Effective {
	names := table.allNames()
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			panic(fmt.Sprintf("two settings are named %q", n))
		}
	}
	return &Effective{Values: Values{table: table, set: map[string]entry{}}}
}

// Auto is the value with which a user lets the run decide a setting.
const Auto = "auto"

// Set parses text as the value of the setting with that name or alias. A value from a higher layer is kept; within a
// layer the last value wins. An unknown name and a text that does not fit the setting's kind are errors.
func (e *Effective) Set(name, text string, from Origin) error {
	s, alias, err := e.table.Find(name)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if alias != nil && alias.Value != "" {
		on, err := parseBool(strings.TrimSpace(text))
		if err != nil {
			return s.invalid(name, text, from, err)
		}
		if !on {
			return nil
		}
		text = alias.Value
	}
	v, err := s.parse(text)
	if err != nil {
		return s.invalid(name, text, from, err)
	}
	e.put(s, alias, v, from)
	return nil
}

// SetList sets a Strings setting from items that may contain commas.
func (e *Effective) SetList(name string, items []string, from Origin) error {
	s, alias, err := e.table.Find(name)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if s.Kind != Strings {
		return fmt.Errorf("%s accepts one value, not a list", from.of(name))
	}
	if len(items) == 0 || slices.Contains(items, "") {
		return fmt.Errorf("%s is an empty list or has an empty item", from.of(name))
	}
	e.put(s, alias, slices.Clone(items), from)
	return nil
}

// invalid names the setting and its value in a parse error. The value of a secret is hidden.
func (s *Setting) invalid(name, text string, from Origin, why error) error {
	shown := fmt.Sprintf("%.100q", text)
	if s.Secret {
		shown = secretText
	}
	return fmt.Errorf("%s %s %w", from.of(name), shown, why)
}

func (e *Effective) put(s *Setting, alias *Alias, v value, from Origin) {
	e.notice(s.Notice)
	if alias != nil {
		e.notice(alias.Notice)
	}
	if s.Ignored {
		return
	}
	if current, ok := e.set[s.Name]; ok && current.origin.Layer > from.Layer {
		return
	}
	if s.Auto && v == Auto {
		delete(e.set, s.Name)
		return
	}
	e.set[s.Name] = entry{v, from}
}

func (e *Effective) notice(text string) {
	if text != "" && !slices.Contains(e.notices, text) {
		e.notices = append(e.notices, text)
	}
}

// Note adds a message to Notices, once.
func (e *Effective) Note(text string) { e.notice(text) }

// Notices returns the messages about old names and ignored settings, each once, in order of use.
func (e *Effective) Notices() []string { return slices.Clone(e.notices) }

// SetEnviron sets every MLPERF_GO_<SETTING> of environ, which has the form of os.Environ. Empty values count as unset.
// An MLPERF_GO_ name that is neither a setting nor among others (such as the names of global flags) is an error.
func (e *Effective) SetEnviron(environ []string, others ...string) error {
	for _, pair := range environ {
		name, text, _ := strings.Cut(pair, "=")
		setting, hasPrefix := strings.CutPrefix(name, envPrefix)
		if !hasPrefix || text == "" || slices.Contains(others, name) {
			continue
		}
		if err := e.Set(setting, text, Origin{FromEnvironment, name}); err != nil {
			return err
		}
	}
	return nil
}
