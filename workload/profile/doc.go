// Package profile describes a workload: which requests a test sends, when, and what counts as good.
//
// Profile is the program's own form, to which the readers of other tools' files (package dialect) translate. Its struct
// tags are the schema: Parse refuses unknown keys and values out of range with file, line, key and similar names, and
// docs/reference/profiles.md and schema/profile.schema.json are generated from them.
//
//	p, err := profile.Read("chat.yaml")
//
// A profile is data. It depends on no clock, no random source and no server; packages schedule and prompts make arrival
// times and prompts from it. The package imports internal/config only.
package profile
