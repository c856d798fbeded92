package profiles

import "embed"

// Files has the profiles below the folders of their harnesses.
//
//go:embed */*.yaml
var Files embed.FS
