// Package contract turns the command line of a workload run into profiles: which harness and profile, with which
// variables, overrides and treatments. Settings is the table of every flag and variable.
//
//	v, notes, err := contract.Resolve(flags, os.LookupEnv)
//	list, err := v.Render()
//
// A flag precedes the scenario file, which precedes the environment, which precedes the default. Both generations of
// llm-d-benchmark's variables are read (docs/reference/dialects.md). The package prints nothing, reads no
// environment by itself, and imports workload/catalog and what is below it.
package contract
