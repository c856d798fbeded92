// Package submission makes the tree that is handed in from a campaign's runs.
//
// Build lays the runs out as a tree, HandIn also truncates its accuracy logs and checks it, and Pack puts a checked
// tree into the file that is uploaded. Each joins packages below this one: campaign runs the tests, tree, truncate,
// check and pack do one part each. Errors are *run.Error. The package prints nothing and must not import cmd.
package submission
