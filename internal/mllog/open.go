package mllog

import (
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// openLog opens a log in its folder. LoadGen writes regular files: a link in the place of one is refused, since the
// folder may be somebody else's, and a pipe would never answer.
func openLog(path string) (*os.File, error) {
	return atomicfile.OpenBelow(filepath.Dir(path), filepath.Base(path))
}
