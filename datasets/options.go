package datasets

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
	"github.com/mlperf-go/mlperf-go/models"
)

// Options configures Open, Check and Convert.
type Options struct {
	Columns        []models.Column   // columns of the schema
	Schema         string            // name of the schema, copied to Dataset.Schema
	Format         string            // one of the Format constants; empty: detect it
	Padding        Padding           // padding of a .npy file
	Limit          int               // read only the first Limit records; 0: all
	Only           *Only             // records that Convert writes; nil: all
	MaxInputTokens int               // maximum length of a prompt in tokens; 0: no limit
	Vocabulary     int               // number of token ids, which must all be smaller; 0: not checked
	KeepText       bool              // keep the prompt's text even if the record has ids or messages
	KeepTarget     bool              // keep the reference output
	Keep           []string          // columns to copy to Sample.Kept: a string's text, or another value's JSON
	Overrides      map[string]string // column name by role, instead of the schema's
	Template       *Template         // composes the prompts, replacing those of the file; nil: none
	// Store keeps the messages; nil: they stay in memory. The caller closes it after the last use of the data set.
	Store     Store
	SizesOnly bool // whether to check and measure messages without keeping them

	lengths bool // whether the last column of Keep is the number of ids in the prompt
}

// ForRow returns the options for a benchmark's data set.
func ForRow(row *models.Row) Options {
	return Options{Columns: row.Columns, Schema: row.Name, MaxInputTokens: row.MaxInputTokens, Vocabulary: row.Vocabulary}
}

// Roles of a column, as models.Column.Role spells them.
const (
	roleIDs      = "input_ids"
	roleInput    = "input"
	roleTarget   = "target"
	roleMessages = "messages"
	roleID       = "id"
	roleSession  = "session"     // rows with the same value belong together; only an override names its column
	roleTemplate = "template"    // wraps the prompt's text at {input}; an object has one for each model family
	roleImage    = "image"       // image file in base64, or an object with its bytes
	roleSystem   = "system"      // text of the system message
	rolePart     = "part"        // part of the user's text, in schema order
	roleTools    = "tools"       // functions that may be called, sent with the messages
	roleChoice   = "tool_choice" // whether the answer must be a call
)

// roleTypes is the type of a column that an override adds to a schema without that role.
var roleTypes = map[string]string{roleIDs: "ids", roleInput: "text", roleTarget: "text", roleMessages: "messages",
	roleID: "text|int", roleSession: "text|int"}

// kind is a set of JSON value kinds.
type kind uint8

const (
	kindText kind = 1 << iota
	kindInt
	kindNumber
	kindBool
	kindObject
	kindArray
	kindIDs
	kindMessages
)

// columnTypes maps each word in models.Column.Type (joined by |) to the accepted kinds and their name in errors.
var columnTypes = map[string]struct {
	kind kind
	name string
}{
	"ids":      {kindIDs, "an array of token ids (integers)"},
	"text":     {kindText, "a string"},
	"object":   {kindObject, "an object"},
	"messages": {kindMessages, "an array of chat messages (objects)"},
	"int":      {kindInt, "an integer"},
	"number":   {kindInt | kindNumber, "a number"},
	"bool":     {kindBool, "true or false"},
	"array":    {kindArray, "an array"},
	"any":      {kindText | kindInt | kindNumber | kindBool | kindObject | kindArray, "a value"},
}

// column is one column of the schema, prepared for matching.
type column struct {
	models.Column
	kinds    kind
	expected string // for errors
} // for errors

// nameRef maps a name in the file to a column. If a record has several names of one column, the smallest rank wins.
type nameRef struct{ column, rank int }

// plan is a schema with its overrides applied.
type plan struct {
	columns []column
	byName  map[string]nameRef
	keep    []int // indices of the columns in Options.Keep
}

func newPlan(o Options) (*plan, error) {
	columns, err := override(o)
	if err != nil {
		return nil, err
	}
	p := &plan{byName: map[string]nameRef{}}
	columns = append(columns, models.Column{Name: synthMark, Type: "any", Role: roleMark})
	for i, c := range columns {
		col := column{Column: c}
		var expected []string
		for word := range strings.SplitSeq(c.Type, "|") {
			t, ok := columnTypes[word]
			if !ok {
				return nil, fmt.Errorf("the schema %q has a column %q of unknown type %q; "+
					"use one of %s, joined by |",
					o.Schema, c.Name, c.Type, strings.Join(slices.Sorted(maps.Keys(columnTypes)), ", "))
			}
			col.kinds |= t.kind
			expected = append(expected, t.name)
		}
		col.expected = strings.Join(expected, " or ")
		p.columns = append(p.columns, col)
		for rank, name := range append([]string{c.Name}, c.Aliases...) {
			if _, taken := p.byName[name]; !taken {
				p.byName[name] = nameRef{i, rank}
			}
		}
	}
	for _, name := range o.Keep {
		at := slices.IndexFunc(p.columns, func(c column) bool { return c.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("the schema %q has no column %q to keep; name a column of the schema",
				o.Schema, name)
		}
		p.keep = append(p.keep, at)
	}
	return p, nil
}

// override returns the schema's columns. The column of each overridden role gets the new name, loses its aliases, and
// becomes required.
func override(o Options) ([]models.Column, error) {
	if len(o.Columns) == 0 {
		return nil, fmt.Errorf("the schema %q has no columns, so no data set can be read; use the columns of "+
			"a row of the model registry", o.Schema)
	}
	columns := slices.Clone(o.Columns)
	if o.Template != nil {
		for _, name := range o.Template.fields {
			if !slices.ContainsFunc(columns, func(c models.Column) bool {
				return c.Name == name ||
					slices.Contains(c.Aliases, name)
			}) {
				columns = append(columns, models.Column{Name: name, Type: "any"})
			}
		}
	}
	for role, name := range o.Overrides {
		typ, ok := roleTypes[role]
		if !ok || name == "" {
			return nil, fmt.Errorf("cannot map column %q to the role %q: the roles are input_ids, input, target, messages, "+
				"id and session, and a column needs a name", name, role)
		}
		at := slices.IndexFunc(columns, func(c models.Column) bool { return c.Role == role })
		if at < 0 {
			columns = append(columns, models.Column{Type: typ, Role: role})
			at = len(columns) - 1
		}
		columns[at].Name, columns[at].Aliases, columns[at].Required = name, nil, true
	}
	// An overriding name must not match another column's alias.
	ordering.Sort(columns, func(a, b models.Column) int {
		return cmp.Compare(o.Overrides[b.Role], "") - cmp.Compare(o.Overrides[a.Role], "")
	})
	return columns, nil
}

// kindsNamed returns the kinds that the schema accepts for a column called name, and whether it has one.
func (p *plan) kindsNamed(name string) (kind, bool) {
	ref, known := p.byName[name]
	if !known {
		return 0, false
	}
	return p.columns[ref.column].kinds, true
}

// promptColumns returns the names of the columns that can contain the prompt.
func (p *plan) promptColumns() string {
	var names []string
	for _, c := range p.columns {
		switch c.Role {
		case roleIDs, roleInput, roleMessages, roleImage:
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}
