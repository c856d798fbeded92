// Package nvtx tests the ranges that a program with the build tag nvtx marks: with NVIDIA's library, installed from its
// package, and a tool of its own that records what the library passes on. `make test-nvtx` builds and runs all of it.
//
// It uses the program as a user does, and imports nothing of the project.
package nvtx
