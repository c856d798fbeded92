package main

// The benchmarks that the tests run.
const (
	idsModel  = "llama3.1-8b"      // its answers are token ids
	edgeModel = "llama3.1-8b-edge" // the same for SingleStream
	textModel = "generic"          // its answers are texts
)
