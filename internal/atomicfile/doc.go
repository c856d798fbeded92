// Package atomicfile writes files that are either complete or absent, and never writes through a planted link.
//
// A file is written under a random name in the folder of its final name, synced and renamed; then the folder is synced.
// Lines does the same for a file that grows during a test: one JSON value a line, compressed when the name ends in .zst
// or .gz. It gets its final name on Close and disappears on Abort.
//
//	atomicfile.WriteJSON("results/run.json", record)        // everybody may read it
//	atomicfile.Private.WriteJSON("results/run.json", record) // only the owner may
//	atomicfile.WriteBytesIn(tree, "closed/a/accuracy.txt", text) // below an opened folder, no link followed
//
// The user chose the path of Write, so its folders may be links. Functions whose names end in In work below an os.Root
// and reject a link at every component: use them in folders that others may have made or may write to.
//
// An error names path and cause; errors.Is(err, syscall.ENOSPC) detects a full disk. A path has one writer at a time.
//
// It imports nothing of the project.
package atomicfile
