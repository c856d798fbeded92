// Package check reports whether the organisers' checker accepts a submission tree, and what a reviewer would reject.
//
// Check applies the table of Rules to every folder of the tree: root, division, submitter, system, benchmark and
// scenario. Its Report lists every scenario folder with its metric and every Finding with advice, and can be written as
// text, JSON, the organisers' summary CSV and the final report's JSON. Constants come from the packages rounds and
// models.
//
//	report, err := check.Check(ctx, "/path/to/tree", check.Options{Round: rounds.Current})
//	fmt.Println(report.Valid)
//	err = report.Text(os.Stdout)
//
// In mode Compat the verdict is that of the current official checker, without its crashes. Strict adds the rules of the
// older checker and of the rules text, and some that both lack (docs/reference/submission-rules.md).
// docs/reference/checks.md lists every rule, and where Compat deviates.
//
// Only regular files are opened, relative to the opened root, and read as streams up to a limit. Links are followed
// inside the tree, but never out of it. The package changes no file, prints nothing and must not import cmd or run.
package check
