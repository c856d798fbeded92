// Package atomicfile writes files that are either complete or absent.
//
// It owns the way from bytes to a durable file: written aside under name.tmp in the same folder, synced, renamed to its
// final name, folder synced. Lines is the same for a file that grows during a test, one JSON value a line, compressed
// when the name ends in .zst or .gz; it gets its final name on Close and disappears on Abort.
//
// In: a path and the bytes. Out: a file, or an error that names path and cause; a full disk is found with
// errors.Is(err, syscall.ENOSPC). There is one writer per path at a time.
//
// It imports nothing of the project.
package atomicfile
