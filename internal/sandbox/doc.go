// Package sandbox runs a program that nobody has read, such as code that a model wrote, so that it can hurt nothing.
//
// It owns the walls: namespaces of users, mounts, processes, network, IPC and host name; a root file system in memory
// that shows read-only what the interpreter needs and nothing of the user; a seccomp filter that allows a list of
// system calls; limits on time, memory, processes, files and output. The program is process 1 of its namespace: when it
// ends, everything that it started ends, and it ends with the process that called Run.
//
// Memory has four bounds, because no single one is there on every machine and counts everything. A control group counts
// all of it, where this process may make one. The package itself adds up processes, files in memory, pipes and sockets
// every few milliseconds. The kernel bounds each process's own data. The filter refuses memory that no process's count
// has.
//
// In come a Program and Limits; out comes a Result. Where a wall can not be built the program is not run: the error is
// an *Unavailable. The child is this program again: a binary that calls Run must call Enter first thing in main, a test
// binary in TestMain.
//
// The package reads no flag and no environment, prints nothing, and imports internal/crash alone of the project.
package sandbox
