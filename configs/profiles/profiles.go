// Package profiles embeds the predefined workload profiles: HARNESS/NAME.yaml, each in the program's own form.
// Package workload/catalog finds and reads them.
package profiles

import "embed"

// Files has the profiles below the folders of their harnesses.
//
//go:embed */*.yaml
var Files embed.FS
