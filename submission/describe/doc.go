// Package describe is what a submission says in people's words: the system's description, how the model was made, how
// to repeat the run, how the weights were calibrated.
//
// In come a file that a person wrote (YAML or JSON, or a plain systems/<system>.json) and facts that were found on the
// machine, at the endpoint and in the runs' records. Out goes one Description: every field with where it came from, the
// list of fields that still lack a value, and the JSON documents of a tree. A person's word always goes before a found
// fact.
//
// The fields are those of submission/layout. A template of the file, with what was found filled in, is made here too.
//
// It looks at no run and no tree, prints nothing and must not import run or cmd.
package describe
