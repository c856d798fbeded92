// Package treefs lists and walks untrusted folders: a submission tree, a campaign's folder, a submitter's code.
//
// Entries and Walk work relative to an opened os.Root and return entries sorted by name. Links are entries and never
// followed. Within reports whether a path is inside a folder. To open and write single files, use the functions of
// internal/atomicfile whose names end in In.
//
// The package changes no file, prints nothing and must not import cmd or run.
package treefs
