package loadgen_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// The built-in configuration needs no file and contains the limits of the official benchmarks.
func TestBuiltInConfiguration(t *testing.T) {
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	s := loadgen.DefaultTestSettings()
	require.Zero(t, s.FromConfig("", "llama3_1-8b", "Server", loadgen.ConfBuiltIn))
	require.True(t, s.UseTokenLatencies)
	require.EqualValues(t, 2*time.Second, s.ServerTTFTLatency)
	require.EqualValues(t, 100*time.Millisecond, s.ServerTPOTLatency)
}
