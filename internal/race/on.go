//go:build race

package race

// Enabled is true if the race detector is linked in.
const Enabled = true
