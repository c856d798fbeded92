// Package parcel sends the files of a folder over a stream and checks on arrival that all came whole.
//
//	err := parcel.Send(w, root, have)              // on the machine that measured
//	parcel.Receive(r, root, parcel.DefaultLimits)  // on the machine that collects
//
// A stream is a zstd-compressed tar archive whose first entry is the manifest: path, size and SHA-256 of every file. A
// receiver that has some files already, from a stream that was cut, names them to Send and gets only the others.
// Receive treats the stream as hostile: paths stay below its folder, links and other special files are refused, and
// numbers and sizes are bounded. A file appears under its name once its sum was compared.
//
// Package kube of the launcher's module receives, and `mlperf-go worker` sends. The package prints nothing and imports
// internal/atomicfile only.
package parcel
