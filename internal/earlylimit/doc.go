// Package earlylimit exits with code 3 and the name of a resource limit if that limit leaves the Go runtime no memory.
// The runtime would print a goroutine dump and exit with 2, which means bad usage. A constructor in C runs before the
// runtime and compares the limits with what it needs to start. Later, a function in C replaces the C library's mmap for
// the runtime. It ends the program if a memory limit rejects a mapping. So does one that replaces pthread_create, if
// there is no room for the stack of a thread, and no thread can be created within five seconds.
//
//	import _ ".../internal/earlylimit" // in a main package
//
// A build without cgo has no such checks. A build with the address or memory sanitizer has only the first. The package
// has no API and imports nothing of the project.
package earlylimit
