// Package schema holds the form of the files that this program writes for other programs to read.
//
// It owns run.schema.json, the JSON Schema (draft 2020-12) of a run's record run.json, and gives its text to whoever wants to
// check a record from Go. Nothing flows in. The schema is strict: what it does not name may not stand in a record, so a field
// that is added, renamed or dropped fails the tests here before it surprises a script.
//
// The package imports nothing of the project; its tests run the built program and hold the records against the schema.
package schema
