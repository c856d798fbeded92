package record

import (
	"runtime"
	"runtime/debug"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// PinnedLoadGen is the version of third_party/loadgen.lock.
const PinnedLoadGen = "6.0.17"

// Tool is the program that wrote a record.
type Tool struct {
	Version         string `json:"version"`
	LoadGen         string `json:"loadgen"`
	LoadGenRevision string `json:"loadgen_revision"`
	Go              string `json:"go"`
}

// version is set by the linker (Makefile). A program that imports this module reports its own build information
// instead.
var version = ""

// ThisTool returns the versions that this program is built from.
func ThisTool() Tool {
	t := Tool{Version: version, LoadGen: loadgen.Version(), LoadGenRevision: loadgen.Revision(), Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		t.Version = info.Main.Version
	}
	return t
}
