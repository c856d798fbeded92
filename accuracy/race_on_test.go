//go:build race

package accuracy

const raceDetector = true
