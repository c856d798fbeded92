package pickle

import "fmt"

// Error describes what is wrong with a pickle.
type Error struct {
	At       int64 // byte offset of the fault in the stream; -1: unknown
	Found    string
	Expected string
	Try      string
}

func (e *Error) Error() string {
	where := ""
	if e.At >= 0 {
		where = fmt.Sprintf(" at byte %d", e.At)
	}
	return fmt.Sprintf("found %s%s, expected %s; %s", e.Found, where, e.Expected, e.Try)
}

const tryTable = "write it again with DataFrame.to_parquet, or as JSON Lines"

func damaged(found string) *Error {
	return &Error{At: -1, Found: found, Expected: "a complete Python pickle", Try: "get or write the file again"}
}

func refused(found string) *Error {
	return &Error{At: -1, Found: found, Expected: "a pickle of a plain table", Try: tryTable}
}

// kindOf returns the Python type of a value, for errors.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int64, *bigInt:
		return "an int"
	case float64:
		return "a float"
	case string:
		return "a str"
	case []byte:
		return "bytes"
	case *List:
		return "a list"
	case Tuple:
		return "a tuple"
	case *Dict:
		return "a dict"
	case *Global:
		return "the name " + v.Name
	case *Object:
		return "a " + v.Class.Name
	}
	return "a value"
}
