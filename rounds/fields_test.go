package rounds

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

var update = flag.Bool("update", false, "write testdata/fields.txt anew")

// TestEveryRow compares the rows of every round, and their descriptions, with testdata/fields.txt.
func TestEveryRow(t *testing.T) {
	var got bytes.Buffer
	for _, r := range models.Rows() {
		fmt.Fprintf(&got, "%s: rounds %v, last %s\n", r.Name, Of(r), Last(r))
		for _, f := range Describe(r) {
			fmt.Fprintf(&got, "  %s: %s (%s)\n", f.Name, f.Value, f.Source)
		}
		for _, round := range All() {
			own, err := round.Row(r)
			if err != nil {
				fmt.Fprintf(&got, "  %s: %v\n", round.Name, err)
				continue
			}
			for i := range own.Scenarios {
				fmt.Fprintf(&got, "  %s: %s\n", round.Name, own.Scenarios[i].String())
				for _, target := range own.Scoring.TargetsFor(own.Scenarios[i].Scenario) {
					fmt.Fprintf(&got, "    %s %s\n", target.Metric, target.String())
				}
			}
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/fields.txt", got.Bytes(), 0o644))
	}
	want, err := os.ReadFile("testdata/fields.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}
