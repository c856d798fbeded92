// Package template prepares the YAML of a workload profile before its keys are read: placeholders for variables,
// overrides of the command line, and the treatments of an experiment.
//
//	notes, err := template.Expand("chat.yaml", root, os.LookupEnv, false) // REPLACE_ENV_NAME
//	list, err := template.ParseOverrides([]string{"min=20,total_count=200"})
//	notes, err = template.Override(root, list, roots)
//
// It works on parsed documents, so a value can never add keys, and comments are never read as placeholders. A node that
// an override set has line 0.
//
// Scenario reads the assignments of a shell file and executes nothing. The package prints nothing, reads no
// environment, and imports internal/config only.
package template
