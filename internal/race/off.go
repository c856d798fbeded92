//go:build !race

package race

// Enabled is true where the race detector is linked in.
const Enabled = false
