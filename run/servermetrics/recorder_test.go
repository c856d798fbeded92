package servermetrics

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/metrics/scrape"
)

// TestGPUsAreRecorded: with servers on loopback or a socket, the GPUs of this machine are recorded too, and the record
// has their energy. The made-up tree of /sys has one GPU that draws 500 W.
func TestGPUsAreRecorded(t *testing.T) {
	root := t.TempDir()
	before := gpuRoot
	gpuRoot = root
	t.Cleanup(func() { gpuRoot = before })
	card := filepath.Join(root, "sys/class/drm/card0/device")
	require.NoError(t, os.MkdirAll(filepath.Join(card, "hwmon/hwmon0"), 0o755))
	for name, text := range map[string]string{"vendor": "0x1002\n", "hwmon/hwmon0/power1_average": "500000000\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(card, name), []byte(text), 0o600))
	}
	for url, want := range map[string]bool{"http://127.0.0.1:8000": true, "https://localhost:8000": true,
		"http://[::1]:8000": true, "http://10.0.0.1:8000": false, "http://localhost.example:8000": false} {
		pages := withGPUs(nil, []backends.Endpoint{{URL: "http://192.0.2.1"}, {URL: url}})
		require.Equal(t, want, len(pages) > 0 && pages[len(pages)-1].Name == gpusName, url)
	}
	m := &Recorder{Access: atomicfile.Shared, Path: filepath.Join(t.TempDir(), "metrics", "server.jsonl.zst"),
		Targets: withGPUs(nil, []backends.Endpoint{{URL: "http://127.0.0.1:1"}}), Interval: scrape.MinInterval}
	m.Start(t.Context())
	began := time.Now()
	time.Sleep(300 * time.Millisecond)
	r, notes := m.Stop()
	require.Empty(t, notes)
	require.Equal(t, 500.0, r.Signals["gpu_power"].Mean)
	require.InDelta(t, 500*time.Since(began).Seconds(), r.EnergyJ, 100)
	require.Equal(t, 500.0, m.Take()[0].Values["gpu_power"], "for the live page")
	r.Yield(1000)
	require.InDelta(t, 1000/r.EnergyJ, r.TokensPerJoule, 1e-9)
}
