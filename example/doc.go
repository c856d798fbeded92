// Command example measures a server of one's own with mlperf-go as a library: a data set made in memory, and a backend
// that is registered by name. It is a module of its own, as a program of yours would be.
//
// It accepts no arguments: main.go contains model, settings and data. It leaves a run's folder, like `mlperf-go run`,
// and prints the verdict.
//
// Its driver is a server inside this process. It imports run, datasets, backends and the types of loadgen-cgo, and
// nothing above run.
package main
