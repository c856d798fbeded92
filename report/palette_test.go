package report

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// vision is how the three kinds of cones of a person mix the light of a screen: a matrix of linear RGB.
type vision [3][3]float64

// visions are normal vision and the three dichromacies, by Machado, Oliveira and Fernandes, "A Physiologically-based
// Model for Simulation of Color Vision Deficiency" (IEEE TVCG 15, 2009), severity 1.
var visions = map[string]vision{
	"normal": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia": {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216},
		{-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413},
		{-0.011820, 0.042940, 0.968881}},
	"tritanopia": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// noticed are the differences of L, a and b of CIELAB that every person notices (p = 1) between marks of a third of a
// degree, such as a piece of a curve of 13 pixels at arm's length: p (A + B / size), by Stone, Szafir and Setlur, "An
// Engineering Model for Color Difference as a Function of Size" (CIC 22, 2014). One of the three is enough.
var noticed = [3]float64{10.16 + 1.50*3, 10.68 + 3.08*3, 10.70 + 5.74*3}

// TestColoursOfCurvesDiffer: each two of the eight curves can be told apart, on light and on dark paper, also by
// colour-blind readers.
func TestColoursOfCurvesDiffer(t *testing.T) {
	const least = 25 // of CIELAB, for normal vision; 2.3 is the least that the eye sees side by side
	css, err := os.ReadFile("page.css")
	require.NoError(t, err)
	found := regexp.MustCompile(`--c(\d): #([0-9a-f]{6});`).FindAllSubmatch(css, -1)
	require.Len(t, found, 16, "eight colours, light and dark")
	for theme, list := range map[string][][][]byte{"light": found[:8], "dark": found[8:]} {
		for i, a := range list {
			require.Equal(t, fmt.Sprint(i), string(a[1]))
			for _, b := range list[:i] {
				for name, seen := range visions {
					p, q := seen.lab(t, string(a[2])), seen.lab(t, string(b[2]))
					notice := 0.0
					for k := range p {
						notice = max(notice, math.Abs(p[k]-q[k])/noticed[k])
					}
					require.Greater(t, notice, 1.0, "%s, %s: c%s #%s and c%s #%s", theme, name, a[1], a[2], b[1], b[2])
					if name == "normal" {
						apart := math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2])
						require.Greater(t, apart, float64(least), "%s: c%s #%s and c%s #%s", theme, a[1], a[2], b[1], b[2])
					}
				}
			}
		}
	}
	// The former blue and green of light paper look alike without blue cones, so that the test above can fail.
	p, q := visions["tritanopia"].lab(t, "0072b2"), visions["tritanopia"].lab(t, "00815c")
	for k := range p {
		require.Less(t, math.Abs(p[k]-q[k]), noticed[k])
	}
}

// lab returns a colour of sRGB in CIELAB, with white of D65, as a person sees it.
func (v vision) lab(t *testing.T, hex string) [3]float64 {
	var rgb [3]uint8
	_, err := fmt.Sscanf(hex, "%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2])
	require.NoError(t, err)
	var light, seen, f [3]float64
	for k, value := range rgb {
		if light[k] = float64(value) / 255; light[k] <= .04045 {
			light[k] /= 12.92
		} else {
			light[k] = math.Pow((light[k]+.055)/1.055, 2.4)
		}
	}
	for i, row := range v {
		seen[i] = min(max(row[0]*light[0]+row[1]*light[1]+row[2]*light[2], 0), 1)
	}
	for i, row := range [3][3]float64{{.4124564, .3575761, .1804375}, {.2126729, .7151522, .0721750},
		{.0193339, .1191920, .9503041}} {
		sum := (row[0]*seen[0] + row[1]*seen[1] + row[2]*seen[2]) / [3]float64{.95047, 1, 1.08883}[i]
		if f[i] = math.Cbrt(sum); sum <= 216.0/24389 {
			f[i] = (24389.0/27*sum + 16) / 116
		}
	}
	return [3]float64{116*f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])}
}
