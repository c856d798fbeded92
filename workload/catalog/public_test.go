package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/dialect"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// The lines that dataset get prints are those of a valid profile, and the predefined profile that it names exists.
func TestPublicSets(t *testing.T) {
	for _, s := range PublicSets() {
		require.NotEmpty(t, s.Licence, s.Name)
		require.NotEmpty(t, s.Fetch, s.Name)
		text := "schema: mlperf-go/profile/1\n" + strings.Join(s.Lines(), "\n") + "\n"
		p, err := dialect.Parse("", s.Name+".yaml", []byte(text), dialect.Options{})
		require.NoError(t, err, text)
		named := p.Data.Path
		if p.Data.Kind == profile.TraceLengths {
			named = p.Data.Trace.Path
			require.Equal(t, named, p.Load.Trace.Path)
			require.Equal(t, s.Name, p.Load.Trace.Format, "the error about a missing trace names the set by its format")
		}
		require.Equal(t, s.File, named)
		if words := strings.Fields(s.Run); s.Run != "" {
			_, err := Find(words[1], words[3])
			require.NoError(t, err, s.Run)
		}
		found, ok := FindPublicSet(strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_")))
		require.True(t, ok)
		require.Equal(t, s.Name, found.Name)
	}
}
