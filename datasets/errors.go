package datasets

import (
	"fmt"
	"strings"
)

// Error is what is wrong with a data set, and where.
type Error struct {
	Path     string // file; empty for a data set made in memory
	What     string // what the file is; empty: a data set
	Record   int    // 1-based; 0: the file as a whole
	Line     int    // 1-based; 0: unknown
	Field    string // column; empty: the record as a whole
	Found    string
	Expected string
	Try      string
	Err      error // cause, where another package reported it
}

// Error is one paragraph: place, what was found, what was expected, what to try.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		what := e.What
		if what == "" {
			what = "data set"
		}
		b.WriteString("cannot read " + what + " " + e.Path)
	} else {
		b.WriteString("cannot use the data set in memory")
	}
	if e.Record > 0 {
		fmt.Fprintf(&b, ", record %d", e.Record)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, " (line %d)", e.Line)
	}
	if e.Field != "" {
		fmt.Fprintf(&b, ", field %q", e.Field)
	}
	fmt.Fprintf(&b, ": found %s, expected %s; %s", e.Found, e.Expected, e.Try)
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fault is an Error before its record and line are known: offset counts bytes from the record's start.
type fault struct {
	offset                      int
	field, found, expected, try string
}

// shown returns foreign bytes as an error may print them: quoted, at most 40 bytes.
func shown(b []byte) string {
	const most = 40
	if len(b) > most {
		return fmt.Sprintf("%q...", b[:most])
	}
	return fmt.Sprintf("%q", b)
}
