// Package schematest holds records of runs against their schema, for tests: every run.json that a test makes or meets
// goes through it, so that what the program writes and what schema/run.schema.json says are one thing.
//
//	schematest.Records(t, folder) // every run.json below folder
//
// It must not be imported by anything but tests.
package schematest
