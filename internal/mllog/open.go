package mllog

import (
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// openLog opens a log in its folder. LoadGen writes regular files. A link is rejected because the folder may belong to
// someone else, a pipe because reading it could block forever.
func openLog(path string) (*os.File, error) {
	return atomicfile.OpenBelow(filepath.Dir(path), filepath.Base(path))
}
