// Package nvtx marks the parts of each request as ranges of NVTX, the interface with which programs report their
// activities to NVIDIA's Nsight and other tools. Only a program built with the tag nvtx does so:
//
//	err := nvtx.Open()               // the library, which must be installed
//	nvtx.Next(seq, nvtx.FirstToken)  // ends the sample's range, and begins the next
//
// Without the tag, On is false, and the compiler removes all calls. docs/how-to/profiling.md lists the ranges.
//
// LoadGen's thread begins and ends ranges too, without entering Go: package loadgen passes Hooks to its bridge. This
// package imports nothing of the project.
package nvtx
