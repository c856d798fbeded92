package gpu

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// plant writes files below a folder.
func plant(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// TestAMD reads a made-up tree of /sys with two GPUs from AMD, one from another vendor, and a connector.
func TestAMD(t *testing.T) {
	root := t.TempDir()
	const card = "sys/class/drm/card1/device/"
	plant(t, root, map[string]string{
		card + "vendor": "0x1002\n", card + "product_name": "Example MI\n", card + "unique_id": "0xabc\n",
		card + "gpu_busy_percent": "87\n", card + "mem_info_vram_used": "1024\n", card + "mem_info_vram_total": "4096\n",
		card + "hwmon/hwmon3/power1_average": "450000000\n", card + "hwmon/hwmon3/freq1_input": "2100000000\n",
		"sys/class/drm/card2/device/vendor":                    "0x1002\n",
		"sys/class/drm/card2/device/device":                    "0x74a1\n",
		"sys/class/drm/card2/device/gpu_busy_percent":          "many\n",
		"sys/class/drm/card2/device/hwmon/hwmon4/power1_input": "120500000\n",
		"sys/class/drm/card0/device/vendor":                    "0x8086\n",
		"sys/class/drm/card1-DP-1/device/vendor":               "0x1002\n",
	})
	s := newSource(findAMD(root), func() {})
	require.NotNil(t, s)
	known, values, err := s.Read()
	require.NoError(t, err)
	require.Len(t, known, 2*figures)
	got := map[string]float64{}
	for i, k := range known {
		if !math.IsNaN(values[i]) {
			got[k.Labels["name"]+" "+k.Name] = values[i]
		}
	}
	require.Equal(t, map[string]float64{"Example MI gpu_power_watts": 450, "Example MI gpu_utilization": .87,
		"Example MI gpu_memory_used_bytes": 1024, "Example MI gpu_memory_bytes": 4096, "Example MI gpu_clock_hertz": 2.1e9,
		"AMD GPU 0x74a1 gpu_power_watts": 120.5}, got)
	require.Equal(t, "0xabc", known[0].Labels["id"])

	require.NoError(t, os.RemoveAll(filepath.Join(root, "sys")))
	_, _, err = s.Read()
	require.ErrorContains(t, err, "no figure of any GPU", "the driver was unloaded")
	require.Nil(t, newSource(findAMD(root), func() {}))
}
