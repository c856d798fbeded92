// Package earlylimit exits with code 3 and the name of a resource limit where that limit leaves the Go runtime no
// memory. The runtime would print a goroutine dump and exit with 2, which means bad usage. A constructor in C runs
// before the runtime and compares the limits with what it needs to start. Later, a function in C takes the place of the
// C library's mmap for the runtime, and ends the program when a limit of memory refuses a mapping.
//
//	import _ ".../internal/earlylimit" // in a main package
//
// A build without cgo has no such checks, and one with the address or memory sanitizer only the first. The package has
// no API and imports nothing of the project.
package earlylimit
