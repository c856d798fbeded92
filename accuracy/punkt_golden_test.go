package accuracy

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// punktEnv names sentence parameters to use instead of the built-in ones: a folder of NLTK's punkt_tab data, or a JSON
// file.
const punktEnv = "MLPERF_GO_PUNKT"

func testPunkt(t testing.TB) *Punkt {
	t.Helper()
	read := EnglishPunkt
	if path := os.Getenv(punktEnv); path != "" {
		read = func() (*Punkt, error) { return ReadPunkt(path) }
	}
	p, err := read()
	require.NoError(t, err)
	return p
}

func TestEnglishPunkt(t *testing.T) {
	p, err := EnglishPunkt()
	require.NoError(t, err)
	require.Equal(t, []int{156, 37, 20366}, []int{len(p.abbreviations), len(p.collocations), len(p.ortho)})
	require.False(t, p.starters["she"])
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
