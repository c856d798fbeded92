// Package earlylimit refuses to start where a resource limit leaves the Go runtime no room: it would end with a dump of
// its own insides and exit code 2, which means bad usage. A constructor in C runs before the runtime does, names the
// limit, its value and the need, and ends the process with exit code 3.
//
//	import _ ".../internal/earlylimit" // in a main package
//
// A build without cgo has no such check. The package has no API and imports nothing of the project.
package earlylimit
