// Package hostinfo describes the machine on which a test runs, and the resources that the test's process uses.
//
// It owns the facts of run.json's host (system, CPU, memory, GPUs, NUMA nodes), the process figures of run.json's
// client (CPU seconds, memory, threads, garbage collection pauses), the limit of open files, free disk space, and the
// check of the wall clock, with which LoadGen measures, against the monotonic clock.
//
// It reads /proc, /sys, system calls and, if installed, NVIDIA's management library. If it cannot find a fact, it
// leaves the field empty and adds a note; this never ends a test. It does not read the host name.
//
// Linux only. Of the project it imports only internal/crash.
package hostinfo
