package report

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestColoursOfCurvesDiffer: curves of eight replicas can be told apart, on light and on dark paper.
func TestColoursOfCurvesDiffer(t *testing.T) {
	const least = 25 // of CIELAB; 2.3 is the least that the eye sees side by side
	css, err := os.ReadFile("page.css")
	require.NoError(t, err)
	found := regexp.MustCompile(`--c(\d): #([0-9a-f]{6});`).FindAllSubmatch(css, -1)
	require.Len(t, found, 16, "eight colours, light and dark")
	for _, list := range [][][][]byte{found[:8], found[8:]} {
		for i, a := range list {
			require.Equal(t, fmt.Sprint(i), string(a[1]))
			for _, b := range list[:i] {
				p, q := lab(t, string(a[2])), lab(t, string(b[2]))
				apart := math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2])
				require.Greater(t, apart, float64(least), "c%s #%s and c%s #%s", a[1], a[2], b[1], b[2])
			}
		}
	}
}

// lab returns a colour of sRGB in CIELAB, with white of D65.
func lab(t *testing.T, hex string) [3]float64 {
	var rgb [3]uint8
	_, err := fmt.Sscanf(hex, "%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2])
	require.NoError(t, err)
	var f [3]float64
	for i, row := range [3][3]float64{{.4124564, .3575761, .1804375}, {.2126729, .7151522, .0721750},
		{.0193339, .1191920, .9503041}} {
		sum := 0.0
		for k, value := range rgb {
			v := float64(value) / 255
			if v <= .04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+.055)/1.055, 2.4)
			}
			sum += row[k] * v
		}
		sum /= [3]float64{.95047, 1, 1.08883}[i]
		if f[i] = math.Cbrt(sum); sum <= 216.0/24389 {
			f[i] = (24389.0/27*sum + 16) / 116
		}
	}
	return [3]float64{116*f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])}
}
