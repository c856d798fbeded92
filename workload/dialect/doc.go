// Package dialect reads the workload files of other benchmark tools into this program's profiles.
//
//	p, err := dialect.Parse("inference-perf", "chat.yaml.in", text, dialect.Options{Lookup: os.LookupEnv})
//
// Each tool has one struct with its keys and one function that translates it. Strict decoding makes an unknown key an
// error with file, line, expected form and similar names. Known faults of published files are repaired first. Every
// repair, and everything that a profile cannot express exactly, is one line of Source.Notes.
//
// The package prints nothing, reads no environment, and imports workload/profile and workload/template.
package dialect
