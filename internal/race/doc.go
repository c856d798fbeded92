// Package race reports whether the race detector is linked into a test binary.
//
// With the detector everything takes ten times as long and several times the memory. Tests use Enabled to choose
// smaller counts and to skip measurements. Only tests import this package, and it imports nothing.
package race
