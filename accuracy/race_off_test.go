//go:build !race

package accuracy

const raceDetector = false
