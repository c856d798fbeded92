// Package race says whether the race detector watches this test binary.
//
// It owns one constant. Nothing comes in. Out goes Enabled, by which tests choose smaller counts, because everything
// takes ten times as long and several times the memory, and leave out what measures either.
//
// Only tests import it, and it imports nothing.
package race
