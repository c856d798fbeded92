package catalog

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/dialect"
)

// odd are values that replace a file's own.
var odd = []string{"", "null", "-1", "0", "1e300", ".nan", ".inf", "yes", "[]", "{}", "[[1]]", "{a: {b: 1}}", "&a x",
	"*a", "!!binary x", "\"\\u0000\"", "REPLACE_ENV_X", "${", "'", "2026-01-01", "99999999999999999999", "0x7f", "\xff"}

// spoil changes some lines of a file at random.
func spoil(r *rand.Rand, text string) string {
	lines := strings.Split(text, "\n")
	for range 1 + r.IntN(3) {
		i := r.IntN(len(lines))
		key, _, isPair := strings.Cut(lines[i], ": ")
		switch r.IntN(7) {
		case 0:
			lines = slices.Delete(lines, i, i+1)
		case 1:
			lines = slices.Insert(lines, i, lines[r.IntN(len(lines))])
		case 2:
			lines[i] = strings.Repeat(" ", r.IntN(6)) + strings.TrimLeft(lines[i], " ")
		case 3:
			lines[i] = lines[i][:r.IntN(len(lines[i])+1)]
		default:
			if isPair {
				lines[i] = key + ": " + odd[r.IntN(len(odd))]
			}
		}
		if len(lines) == 0 {
			break
		}
	}
	return strings.Join(lines, "\n")
}

// TestSpoiledProfiles changes every predefined profile of every tool, by seed. Each result is a valid profile or an
// error that names the file, and comes soon.
func TestSpoiledProfiles(t *testing.T) {
	const seed, each = 19, 15
	rejected, all := 0, 0
	for n, f := range All() {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		for range each {
			text := spoil(r, string(f.Text))
			for _, tool := range []string{f.Harness, ""} {
				begun := time.Now()
				p, err := dialect.Parse(tool, "spoiled.yaml", []byte(text),
					dialect.Options{KeepUnresolved: true, Compat: r.IntN(2) == 0})
				require.Less(t, time.Since(begun), 10*time.Second, text)
				if all++; err != nil {
					rejected++
					require.Contains(t, err.Error(), "spoiled", text)
					continue
				}
				require.NoError(t, p.Validate(), text)
			}
		}
	}
	require.Greater(t, rejected, all/10)
	require.Greater(t, all-rejected, all/10)
}
