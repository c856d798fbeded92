// Package hostinfo tells what machine a test runs on and what the test's own process used of it.
//
// It owns the facts of run.json's host (system, CPU, memory, GPUs, NUMA nodes), the process figures of run.json's
// client (CPU seconds, memory, threads, garbage collection pauses), the limit of open files, free disk space, and the
// check of the wall clock, with which LoadGen measures, against the monotonic clock.
//
// In: /proc, /sys, system calls, NVIDIA's management library, opened when it is there. Out: plain structs; what can not
// be found is empty and noted, never an error that ends a test. No host name is read.
//
// Linux only. It imports internal/crash alone of the project.
package hostinfo
