// Package lengths draws random quantities of a profile: lengths in tokens, and times.
//
//	n := lengths.Tokens(profile.Data.Input, r)
//	wait := lengths.Draw(stage.ThinkTime, r) // seconds
//
// The package prints nothing and imports workload/profile only.
package lengths
