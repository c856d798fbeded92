// Package record defines run.json, the record of a run, and its verdict.
//
//	r, err := record.Read(folder)
//	if err == nil && r.Verdict == record.Valid { ... }
//
// Record is run.json; schema/run.schema.json describes it. Evidence is everything that a verdict depends on, and
// its Judge applies one rule after the other: each rule returns a Cause with a Code, or nil. The package also lists
// the file names of a run's folder.
//
// Record and Verdict are part of the supported API as run.Record and run.Verdict; the rest of the package serves this
// module and may change. It must not import run, run/plan or any package above them.
package record
