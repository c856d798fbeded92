package tokenizer

import "fmt"

// Error describes what is wrong with a tokenizer file, and where.
type Error struct {
	Path  string // path of the file; empty for a tokenizer parsed from memory
	Part  string // key in the file, such as "pre_tokenizer"; empty: the error concerns the whole file
	Found string // what is wrong
	Try   string
	Err   error // cause, if another package reported it
}

// Error returns one paragraph: file, part, what was found, what to try.
func (e *Error) Error() string {
	where := "the tokenizer in memory"
	if e.Path != "" {
		where = "tokenizer " + e.Path
	}
	if e.Part != "" {
		where += ", " + e.Part
	}
	return fmt.Sprintf("cannot use %s: %s; %s", where, e.Found, e.Try)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

const (
	tryDownload = "download the file again from the model's page, or name another with --tokenizer"
	tryServer   = "use the server's own tokenizer (/tokenize) or ask for this part to be supported"
)

// broken returns the error for a file that violates the format.
func broken(part, format string, args ...any) *Error {
	return &Error{Part: part, Found: fmt.Sprintf(format, args...), Try: tryDownload}
}

// unsupported returns the error for a valid file that uses a feature this package does not implement.
func unsupported(part, format string, args ...any) *Error {
	return &Error{Part: part, Found: fmt.Sprintf(format, args...) + ", which is not supported", Try: tryServer}
}

// shown quotes text from a file for an error message, at most 60 bytes.
func shown(text string) string {
	const most = 60
	if len(text) > most {
		return fmt.Sprintf("%.60q...", text)
	}
	return fmt.Sprintf("%q", text)
}
