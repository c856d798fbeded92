// Package sandbox runs untrusted programs, such as code written by a model, without access to the machine.
//
// It builds these walls: namespaces of users, mounts, processes, network, IPC and host name; a root file system in
// memory that shows read-only what the interpreter needs and nothing of the user; a seccomp filter that allows a list
// of system calls; limits on time, memory, processes, files and output. The program is process 1 of its namespace: when
// it ends, everything that it started ends, and it ends with the process that called Run.
//
// Memory has four bounds, because no single one exists on every machine and counts everything. A control group counts
// all memory, if this process may create one. The package itself sums up processes, files in memory, pipes and sockets
// every few milliseconds. The kernel bounds each process's own data. The filter rejects calls that allocate memory
// outside of every process's count.
//
// Run runs a Program within Limits and returns a Result. If a wall cannot be built, it does not run the program and
// returns an *Unavailable. The child is this program again: a binary that calls Run must call Enter first in main, a
// test binary in TestMain.
//
// The package reads no flag and no environment, prints nothing, and of the project imports only internal/crash.
package sandbox
