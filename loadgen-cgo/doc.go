// Package loadgen is the bridge to the official MLPerf LoadGen C++ library, and nothing but the bridge.
//
// StartTest runs a test. LoadGen's issue thread puts the issued samples into rings in C memory and never enters Go;
// Shard.Wait returns them, and FirstTokenComplete and QuerySamplesComplete report first tokens and answers. The names
// are LoadGen's own. bridge.h numbers the rules of ownership and threads.
//
// With the build tag noloadgen, or without cgo, everything compiles, but StartTest and the constructors return
// ErrNotBuilt. types.go contains the types that clients share and needs no LoadGen.
//
// The package imports nothing of this project, reads configuration files only through LoadGen, and prints nothing.
package loadgen
