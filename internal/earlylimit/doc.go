// Package earlylimit exits early if a resource limit leaves the Go runtime no room: the runtime would print a goroutine
// dump and exit with 2, which means bad usage. A constructor in C runs before the runtime, prints the limit, its value
// and the need, and exits with code 3.
//
//	import _ ".../internal/earlylimit" // in a main package
//
// A build without cgo has no such check. The package has no API and imports nothing of the project.
package earlylimit
