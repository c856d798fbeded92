// Package treefs looks into folders that somebody else may have made: a submission tree, a campaign's folder, a
// submitter's code.
//
// It owns how such a folder is opened, listed and walked: relative to its opened root, with every link an entry and
// none followed. Within tells whether a place lies inside of a folder. Single files are opened and written by
// internal/atomicfile's functions that end in In.
//
// In comes an os.Root; out go entries sorted by name. It changes no file, prints nothing and must not import cmd or
// run.
package treefs
