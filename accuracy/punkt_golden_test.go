package accuracy

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// punktEnv names a folder of NLTK's punkt_tab data, or the JSON file of Go module github.com/neurosnap/sentences.
const punktEnv = "MLPERF_GO_PUNKT"

func testPunkt(t testing.TB) *Punkt {
	t.Helper()
	path := os.Getenv(punktEnv)
	if path == "" {
		t.Skipf("no sentence parameters: set %s to a folder of NLTK's punkt_tab data", punktEnv)
	}
	p, err := ReadPunkt(path)
	require.NoError(t, err)
	return p
}

func TestGoldenPunktEnglish(t *testing.T) {
	type punktCase struct {
		Text, Joined string
		Sentences    []string
	}
	p := testPunkt(t)
	eachCase(t, "punkt_english", func(t *testing.T, c punktCase) {
		require.Equal(t, c.Sentences, p.Sentences(c.Text))
		require.Equal(t, c.Joined, p.Joined(c.Text))
	})
}
