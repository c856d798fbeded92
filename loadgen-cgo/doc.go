// Package loadgen is the bridge to the official MLPerf LoadGen C++ library, and nothing but the bridge.
//
// In come test settings, a sample library's load and unload functions, answers and first tokens; out go the issued
// samples, through a ring in C memory that LoadGen's issue thread fills without ever entering Go. The names are
// LoadGen's own. Rules of ownership and threads stand, numbered, in bridge.h.
//
// types.go has the types that clients of the bridge share and needs no LoadGen; with the build tag noloadgen (or
// without cgo) everything else is there too, but StartTest and what leads to it answer ErrNotBuilt.
//
// The package imports nothing of this project, reads no configuration file but through LoadGen, and prints nothing.
package loadgen
