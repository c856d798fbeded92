// Package describe handles the documents of a submission that people write: the description of the system, and how the
// model was made, calibrated and run.
//
// Read reads a Description from a YAML or JSON file, or from a plain systems/<system>.json. Fill adds facts found on
// the machine, at the endpoint and in records of runs; values in the file take precedence. Missing lists the fields
// without a value. SystemJSON and MeasurementsJSON return the documents of a tree, and WriteYAML writes a template of
// the file. The fields are those of submission/layout.
//
// The package reads no run and no tree, prints nothing and must not import run or cmd.
package describe
