// Package parcel sends the files of a folder over a stream. The receiver checks that all files arrived completely.
//
//	err := parcel.Send(w, root, have)              // on the machine that measured
//	parcel.Receive(r, root, parcel.DefaultLimits)  // on the machine that collects
//
// A stream is a zstd-compressed tar archive whose first entry is the manifest: path, size and SHA-256 of every file. If
// a stream was cut and the receiver already has some files, it lists them to Send, which then sends only the others.
// Receive treats the stream as hostile: paths stay below its folder, links and other special files are rejected, and
// numbers and sizes are limited. A file appears under its name only after its hash was checked.
//
// Package kube of the launcher's module receives, and `mlperf-go worker` sends. The package prints nothing and imports
// internal/atomicfile only.
package parcel
