// Package contract turns the command line of a workload run into profiles: which harness and profile, with which
// variables, overrides and treatments. Settings is the table of every flag and variable.
//
//	v, notes, err := contract.Resolve(flags, os.LookupEnv)
//	list, err := v.Render()
//
// Flags take precedence over the scenario file, the file over the environment, and the environment over defaults.
// Both generations of llm-d-benchmark's variables are read (docs/reference/dialects.md). The package prints
// nothing, reads no environment by itself, and imports workload/catalog and what is below it.
package contract
