package datasets

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// Limits for a list of ids.
const (
	mostOnlyBytes = 64 << 20
	mostOnlyLine  = 1 << 12
)

// Only selects the records that Convert writes by the values of a column. The others are checked but not written. A nil
// Only selects all.
type Only struct {
	path, column string
	met          map[string]bool // whether a record had the id, by id
}

// ReadOnly reads a list of values of column, one per line. Empty lines are ignored.
func ReadOnly(path, column string) (*Only, error) {
	failed := func(found string, err error) error {
		return &Error{Path: path, What: "list of ids", Found: found, Expected: "a text file with one id on each line",
			Try: "check the path and the file", Err: err}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, failed(fmt.Sprintf("a read error (%v)", err), err)
	}
	defer f.Close()
	only := &Only{path: path, column: column, met: map[string]bool{}}
	content := &io.LimitedReader{R: f, N: mostOnlyBytes}
	lines := bufio.NewScanner(content)
	lines.Buffer(nil, mostOnlyLine)
	for lines.Scan() {
		if id := strings.TrimSpace(lines.Text()); id != "" {
			only.met[id] = false
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		return nil, failed(fmt.Sprintf("a read error (%v)", err), err)
	case content.N <= 0:
		return nil, failed(fmt.Sprintf("more than %d MiB", mostOnlyBytes>>20), nil)
	case len(only.met) == 0:
		return nil, failed("no ids", nil)
	}
	return only, nil
}

// takes reports whether a record's id is on the list.
func (o *Only) takes(record []byte) bool {
	if o == nil {
		return true
	}
	taken := false
	_ = members(record, func(name string, value []byte) error { // the record has been checked
		if name != o.column {
			return nil
		}
		id := string(value)
		if bytes.HasPrefix(value, []byte{'"'}) {
			text, _ := unquote(nil, value[1:len(value)-1])
			id = string(text)
		}
		if _, taken = o.met[id]; taken {
			o.met[id] = true
		}
		return nil
	})
	return taken
}

// whole returns an error if the list contains ids that no record had.
func (o *Only) whole() error {
	if o == nil {
		return nil
	}
	missing, one := 0, ""
	for id, met := range o.met {
		if !met {
			missing++
			if one == "" || id < one {
				one = id
			}
		}
	}
	if missing == 0 {
		return nil
	}
	return &Error{Path: o.path, What: "list of ids",
		Found: fmt.Sprintf("%d of %d ids without a record that has them in %q, such as %.60q", missing, len(o.met),
			o.column, one),
		Expected: "ids of the data set", Try: "name the column of the ids with --id-column, and all files that contain " +
			"them"}
}
