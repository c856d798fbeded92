package config

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ConfKind is the kind of a LoadGen configuration file.
type ConfKind int

// The files that LoadGen reads in addition to its built-in mlperf.conf.
const (
	UserConf  ConfKind = iota // user.conf: LoadGen's conf_type 1
	AuditConf                 // audit.config: LoadGen's conf_type 2, read with the model "*"
)

func (k ConfKind) String() string {
	if k == AuditConf {
		return "audit.config"
	}
	return "user.conf"
}

// Entry is one line of a LoadGen configuration file.
type Entry struct {
	Line     int // number of the line, starting at 1
	Model    string
	Scenario string
	Key      string
	Text     string // value as written
}

func (e Entry) name() string { return e.Model + "." + e.Scenario + "." + e.Key }

// Conf is a LoadGen configuration file whose every line LoadGen reads as written.
type Conf struct {
	name    string
	kind    ConfKind
	entries []Entry
	index   map[string]int // index in entries, by the entry's name
}

// Name returns the file name passed to ParseConf.
func (c *Conf) Name() string { return c.name }

// Entries returns the lines in file order.
func (c *Conf) Entries() []Entry { return slices.Clone(c.entries) }

// ParseConf reads a user.conf or audit.config of at most 1 MiB.
//
// A line that LoadGen would silently ignore, truncate or reject is an error with file, line and key; grammar and values
// are those of docs/reference/loadgen.md#configuration-files. Model keys are those of mlperf.conf, "*" and moreModels.
func ParseConf(name string, r io.Reader, kind ConfKind, moreModels ...string) (*Conf, error) {
	text, err := io.ReadAll(io.LimitReader(r, largestFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	if len(text) > largestFile {
		return nil, fmt.Errorf("%s %s is larger than %d bytes", kind, name, largestFile)
	}
	c := &Conf{name: name, kind: kind, index: map[string]int{}}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		entry, ok, err := c.parseLine(string(line), moreModels)
		if err != nil {
			return nil, fmt.Errorf("%s %s line %d: %w", kind, name, number, err)
		}
		if !ok {
			continue
		}
		entry.Line = number
		if earlier, double := c.index[entry.name()]; double {
			return nil, fmt.Errorf("%s %s line %d: %s is already set in line %d; LoadGen would silently use the later "+
				"one: keep one of them", kind, name, number, entry.name(), c.entries[earlier].Line)
		}
		c.index[entry.name()] = len(c.entries)
		c.entries = append(c.entries, entry)
	}
	return c, nil
}

// confBlank holds the bytes that separate words for LoadGen.
const confBlank = " \t\n\v\f\r"

// parseLine returns the entry of a line, or false for a blank line or a comment.
func (c *Conf) parseLine(line string, moreModels []string) (Entry, bool, error) {
	if strings.ContainsRune(line, 0) {
		return Entry{}, false, fmt.Errorf("the line contains a NUL byte; is this a text file?")
	}
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(confBlank, r) })
	if len(words) == 0 || words[0] == "#" {
		return Entry{}, false, nil
	}
	if words[0][0] == '#' {
		return Entry{}, false, checkGluedComment(words)
	}
	if err := checkWords(words); err != nil {
		return Entry{}, false, err
	}
	e, err := c.splitKey(words[0], moreModels)
	if err != nil {
		return Entry{}, false, err
	}
	e.Text = words[2]
	if err := findConfKey(e.Key).check(e.Text, e.Scenario); err != nil {
		return Entry{}, false, fmt.Errorf("%s = %.100q %w", e.name(), e.Text, err)
	}
	return e, true, nil
}

// checkWords requires the form "KEY = VALUE", with blanks around the sign.
func checkWords(words []string) error {
	key := words[0]
	switch {
	case len(words) == 1 && strings.Contains(key, "="):
		return fmt.Errorf("%.100q has no blanks around \"=\", and LoadGen silently ignores such a line: write %.100q", key,
			strings.Replace(key, "=", " = ", 1))
	case len(words) == 1:
		return fmt.Errorf("%.100q has no value, and LoadGen silently ignores such a line: write key = value", key)
	case words[1] != "=" && strings.HasPrefix(words[1], "="):
		return fmt.Errorf("%.100q: expected \"=\" followed by a blank, found %.100q", key, words[1])
	case words[1] != "=":
		return fmt.Errorf("%.100q: expected \"=\", found %.100q", key, words[1])
	case len(words) == 2:
		return fmt.Errorf("%.100q has no value after \"=\", and LoadGen silently ignores such a line: write key = value", key)
	case len(words) > 3 && strings.HasPrefix(words[3], "#"):
		return fmt.Errorf("%.100q has a comment after its value, which makes LoadGen drop the whole file: put the comment "+
			"on its own line", key)
	case len(words) > 3:
		return fmt.Errorf("%.100q has more than one value (%.100q), and LoadGen would use the last number: keep one", key,
			strings.Join(words[2:], " "))
	}
	return nil
}

// checkGluedComment checks a line whose first word is like "#note". LoadGen treats that word as a key. It ignores some
// of these lines, which is harmless; because of the others it rejects the whole file.
func checkGluedComment(words []string) error {
	harmless := len(words) == 1 || words[1] == "#" ||
		words[1] == "=" && !slices.ContainsFunc(words[2:], func(w string) bool { return !isConfNumber(w) })
	if harmless {
		return nil
	}
	return fmt.Errorf("%.100q: LoadGen needs a blank after the \"#\" of a comment, and drops the whole file without it",
		words[0])
}

func isConfNumber(word string) bool {
	if _, err := parseConfCount(word); err == nil {
		return true
	}
	return strings.Trim(word, "0123456789.") == "" && strings.Count(word, ".") <= 1 && word != "."
}

// splitKey splits model.scenario.key from its end, since model keys may contain dots.
func (c *Conf) splitKey(name string, moreModels []string) (Entry, error) {
	rest, key, ok := cutLast(name)
	model, scenario, ok2 := cutLast(rest)
	if !ok || !ok2 || model == "" {
		return Entry{}, fmt.Errorf("%.100q does not have the form model.scenario.key, so LoadGen never reads it; use \"*\" "+
			"for every model or scenario", name)
	}
	e := Entry{Model: model, Scenario: scenario, Key: key}
	if err := c.checkKey(e); err != nil {
		return Entry{}, err
	}
	if scenario != "*" && !slices.Contains(confScenarios, scenario) {
		if scenario == "Interactive" {
			return Entry{}, fmt.Errorf("%.100q: LoadGen has no scenario Interactive: use Server with the model's "+
				"-interactive key", name)
		}
		return Entry{}, fmt.Errorf("%.100q: unknown scenario %.100q; LoadGen never reads the line%s", name, scenario,
			DidYouMean(scenario, confScenarios))
	}
	if known := append(LoadGenModels(), moreModels...); model != "*" && !slices.Contains(known, model) {
		return Entry{}, fmt.Errorf("%.100q: LoadGen's mlperf.conf has no model key %.100q, so LoadGen never uses the line%s",
			name, model, DidYouMean(model, known))
	}
	if k := findConfKey(key); !k.reads(scenario) {
		return Entry{}, fmt.Errorf("%.100q: LoadGen reads %s only for %s, not for %s", name, key,
			strings.Join(k.scenarios, ", "), scenario)
	}
	return e, nil
}

func (c *Conf) checkKey(e Entry) error {
	k := findConfKey(e.Key)
	switch {
	case k == nil:
		return fmt.Errorf("%.100q: unknown key %.100q; LoadGen never reads it%s", e.name(), e.Key,
			DidYouMean(e.Key, confKeyNames()))
	case k.readOnly:
		return fmt.Errorf("%.100q: LoadGen reads %s only from its built-in mlperf.conf and ignores it here: remove the line",
			e.name(), e.Key)
	case k.audit && c.kind != AuditConf:
		return fmt.Errorf("%.100q: %s belongs in an audit.config", e.name(), e.Key)
	}
	return nil
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+1:], true
}

// Lookup returns the entry that LoadGen uses for a key: model.scenario, else *.scenario, else model.*, else *.*.
func (c *Conf) Lookup(model, scenario, key string) (Entry, bool) {
	for _, section := range [][2]string{{model, scenario}, {"*", scenario}, {model, "*"}, {"*", "*"}} {
		if i, ok := c.index[Entry{Model: section[0], Scenario: section[1], Key: key}.name()]; ok {
			return c.entries[i], true
		}
	}
	return Entry{}, false
}

// Resolve returns the entries that LoadGen uses for one model key and scenario, in the order of LoadGen's keys. gates
// lists the switches (use_token_latencies, infer_token_latencies) that mlperf.conf turns on for the model; a key that
// LoadGen would skip because its switch is off is an error. Like LoadGen, Resolve reads an audit.config with the model
// "*".
func (c *Conf) Resolve(model, scenario string, gates ...string) ([]Entry, error) {
	if c.kind == AuditConf {
		model = "*"
	}
	var found []Entry
	for i := range confKeys {
		k := &confKeys[i]
		if !k.reads(scenario) {
			continue
		}
		e, ok := c.Lookup(model, scenario, k.name)
		if !ok {
			continue
		}
		if k.gate != "" && !c.gateOpen(k.gate, model, scenario, gates) {
			return nil, fmt.Errorf("%s %s line %d: LoadGen skips %s unless %s is 1 for %s: set it in the file, or remove "+
				"the line", c.kind, c.name, e.Line, e.name(), k.gate, model)
		}
		found = append(found, e)
	}
	return found, nil
}

func (c *Conf) gateOpen(gate, model, scenario string, gates []string) bool {
	if e, ok := c.Lookup(model, scenario, gate); ok {
		return e.Text == "1" || e.Text == "0x1"
	}
	return slices.Contains(gates, gate)
}

// Unmatched returns the entries of an audit.config that name a model; LoadGen ignores them, since it reads the file
// with the model "*". They are not an error because official audit files have such lines.
func (c *Conf) Unmatched() []Entry {
	if c.kind != AuditConf {
		return nil
	}
	return slices.DeleteFunc(c.Entries(), func(e Entry) bool { return e.Model == "*" })
}
