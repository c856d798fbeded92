package statefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// OtherVersion is the error of a file that another version of this program wrote. Value is what could be decoded of it:
// good enough to look at, and never to continue from or to judge.
type OtherVersion struct {
	Schema, Reads string // schemas of the file, and of this program
	Unread        string // the first field with another form; "": none
	Value         any    // as passed to Decode
}

// Error returns both schemas.
func (o *OtherVersion) Error() string {
	return fmt.Sprintf("it has the schema %q; this program reads %q", o.Schema, o.Reads)
}

// Note describes in one line what a reader of the file sees.
func (o *OtherVersion) Note() string {
	text := fmt.Sprintf("the schema is %q, this program reads %q and shows what it recognizes", o.Schema, o.Reads)
	if o.Unread != "" {
		text += fmt.Sprintf("; %q has another form, and perhaps others", o.Unread)
	}
	return text
}

// maxVersion bounds the version of a schema, in bytes.
const maxVersion = 20

// Decode decodes the JSON of a file. schema returns the schema in the decoded value, and reads is the only one without
// an error. The error of another version of it, such as walk/2 for walk/1, is an OtherVersion.
func Decode(text []byte, into any, schema func() string, reads string) error {
	err := json.Unmarshal(text, into) // after a field of another type it decodes the others
	has := schema()
	if has == reads || err != nil && has == "" {
		return err
	}
	other := OtherVersion{Schema: has, Reads: reads, Value: into}
	family := reads[:strings.LastIndexByte(reads, '/')+1]
	if version, ok := strings.CutPrefix(has, family); !ok || version == "" || len(version) > maxVersion {
		return errors.New(other.Error())
	}
	var field *json.UnmarshalTypeError
	switch {
	case errors.As(err, &field):
		other.Unread = field.Field
	case err != nil:
		other.Unread = err.Error()
	}
	return &other
}
