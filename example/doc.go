// Command example measures a server of one's own with mlperf-go as a library: a data set made in memory, and a backend
// that is registered by name. It is a module of its own, as a program of yours would be.
//
// In comes nothing: model, settings and data stand in main.go. Out go a run's folder, as `mlperf-go run` leaves it, and
// its verdict.
//
// It owns a driver (a server inside this process) and the samples that go to it. It imports run, datasets, backends and
// the types of loadgen-cgo, and nothing that stands above run.
package main
