// Package schematest validates records of runs against their schema in tests. Every run.json that a test makes or reads
// goes through it, so that the program and schema/run.schema.json agree.
//
//	schematest.Records(t, folder) // every run.json below folder, and the records of other commands
//
// Only tests may import it.
package schematest
