package config

import (
	"fmt"
	"slices"
	"time"
)

// Values contains the settings of a table with their values and origins.
type Values struct {
	table Table
	set   map[string]entry // values that were set, by name; other settings have their defaults
}

type entry struct {
	value  value
	origin Origin
}

// Table returns the settings.
func (vs *Values) Table() Table { return vs.table }

// IsSet reports whether any layer above the defaults has a value.
func (vs *Values) IsSet(name string) bool {
	vs.setting(name)
	_, ok := vs.set[name]
	return ok
}

// Has reports whether the setting has a value, including its default.
func (vs *Values) Has(name string) bool {
	_, ok := vs.lookup(name)
	return ok
}

// Origin returns the source of the value.
func (vs *Values) Origin(name string) Origin {
	got, _ := vs.lookup(name)
	return got.origin
}

// Text returns the value in the form that Set accepts, "***" for a secret, and "" for a setting without a value.
func (vs *Values) Text(name string) string {
	got, ok := vs.lookup(name)
	switch {
	case !ok:
		return ""
	case vs.setting(name).Secret:
		return secretText
	}
	return format(got.value)
}

// The typed getters return a setting's value, or the zero value if it has none. They panic if the table has no setting
// of that name and kind, which is a bug of the caller.

// String returns the value of a String or Enum.
func (vs *Values) String(name string) string { return get[string](vs, name) }

// Strings returns a copy of the value of a Strings.
func (vs *Values) Strings(name string) []string { return slices.Clone(get[[]string](vs, name)) }

// Int returns the value of an Int.
func (vs *Values) Int(name string) int { return int(get[int64](vs, name)) }

// Float returns the value of a Float.
func (vs *Values) Float(name string) float64 { return get[float64](vs, name) }

// Duration returns the value of a Duration.
func (vs *Values) Duration(name string) time.Duration { return get[time.Duration](vs, name) }

// Bool returns the value of a Bool.
func (vs *Values) Bool(name string) bool { return get[bool](vs, name) }

// Bytes returns the value of a Bytes, in bytes.
func (vs *Values) Bytes(name string) int64 { return get[int64](vs, name) }

func get[T any](vs *Values, name string) T {
	var zero T
	got, ok := vs.lookup(name)
	if !ok {
		return zero
	}
	v, ok := got.value.(T)
	if !ok {
		panic(fmt.Sprintf("setting %s is of kind %s, not %T", name, vs.setting(name).Kind, zero))
	}
	return v
}

func (vs *Values) lookup(name string) (entry, bool) {
	s := vs.setting(name)
	if got, ok := vs.set[name]; ok {
		return got, true
	}
	if s.Default == "" {
		return entry{}, false
	}
	v, err := s.parse(s.Default)
	if err != nil {
		panic(fmt.Sprintf("default of setting %s %v", name, err))
	}
	return entry{v, Origin{Layer: FromDefault}}, true
}

func (vs *Values) setting(name string) *Setting {
	s, _, err := vs.table.Find(name)
	if err != nil || s.Name != name {
		panic(fmt.Sprintf("no setting is named %s", name))
	}
	return s
}
