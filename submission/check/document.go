package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
)

// document is a JSON object written by people or other tools. Its methods also work if it could not be read.
type document struct {
	path   string
	err    error // why it cannot be used, or nil
	absent bool
	values map[string]any // numbers are json.Number
}

var errNoObject = errors.New("not a JSON object")

func (c *checker) readDocument(name string) *document {
	d := &document{path: name}
	b, err := c.files.read(name, maxDocument)
	if err != nil {
		d.err, d.absent = err, errors.Is(err, fs.ErrNotExist)
		return d
	}
	d.values, d.err = object(b)
	return d
}

func object(b []byte) (map[string]any, error) {
	in := json.NewDecoder(bytes.NewReader(b))
	in.UseNumber()
	var v any
	if err := in.Decode(&v); err != nil {
		return nil, err
	}
	if in.More() {
		return nil, errors.New("there is text after its JSON object")
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, errNoObject
	}
	return o, nil
}

// has reports whether the key exists.
func (d *document) has(key string) bool {
	_, ok := d.values[key]
	return ok
}

// text returns a string value; ok is false for other types.
func (d *document) text(key string) (string, bool) {
	s, ok := d.values[key].(string)
	return s, ok
}

// empty reports whether the value is false in Python: missing, null, "", 0, false, an empty list or object.
func (d *document) empty(key string) bool { return !truthy(d.values[key]) }

// readMapping returns a submitter's own benchmark names; an unreadable file maps none.
func (c *checker) readMapping(name string) map[string]string {
	d := c.readDocument(name)
	own := map[string]string{}
	for k, v := range d.values {
		if official, ok := v.(string); ok {
			own[k] = official
		}
	}
	return own
}
