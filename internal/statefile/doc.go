// Package statefile reads the file from which a campaign, a tune, a sweep or an experiment continues.
//
//	var file = statefile.File[State]{Name: "tune.json", Of: "tune", Schema: Schema,
//		SchemaOf: func(s *State) string { return s.Schema }, Check: (*State).check}
//	s, err := file.Read(folder)
//
// The file is untrusted: its size is limited, links are not followed, and a file of another schema is rejected. The
// error of another version of the schema has what could be decoded, for commands that only show it.
//
// The package imports only internal/atomicfile.
package statefile
