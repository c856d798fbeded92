//go:build race

package datasets

// raceDetector says that this test binary's memory is not the program's.
const raceDetector = true
