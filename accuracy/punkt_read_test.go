package accuracy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func writeTab(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "english")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

func TestReadPunktTab(t *testing.T) {
	dir := writeTab(t, map[string]string{"abbrev_types.txt": "dr\nu.s\n", "sent_starters.txt": "however\r\n",
		"collocations.tab": "##number##\tmain\n", "ortho_context.tab": "he\t46\n"})
	for _, path := range []string{dir, filepath.Dir(dir)} {
		p, err := ReadPunkt(path)
		require.NoError(t, err)
		require.Equal(t, []string{"Dr. Ho saw the U.S.", "However it was 3. Main street.", "No."},
			p.Sentences("Dr. Ho saw the U.S. However it was 3. Main street. No."))
	}
}

func TestReadPunktRefuses(t *testing.T) {
	whole := map[string]string{"abbrev_types.txt": "dr\n", "sent_starters.txt": "", "collocations.tab": "",
		"ortho_context.tab": ""}
	for name, c := range map[string]struct{ file, text, want string }{
		"flags": {"ortho_context.tab", "he\t46\nshe\tx\n",
			"ortho_context.tab line 2: expected a word, a tab and a number from 0 to 127"},
		"collocation": {"collocations.tab", "one\n", "collocations.tab line 1: expected two words separated by a tab"},
		"long line": {"abbrev_types.txt", strings.Repeat("x", 1<<17),
			"abbrev_types.txt line 1: bufio.Scanner: token too long"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeTab(t, whole)
			require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644))
			_, err := ReadPunkt(dir)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "name the folder english of NLTK's punkt_tab data")
		})
	}
	_, err := ReadPunkt(t.TempDir())
	require.ErrorContains(t, err, "reading sentence parameters: open ")
	file := filepath.Join(t.TempDir(), "english.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"AbbrevTypes":{}}`), 0o644))
	_, err = ReadPunkt(file)
	require.ErrorContains(t, err, "AbbrevTypes or OrthoContext is missing or empty")
}

// ReadPunkt drops the sentence starter that only the JSON form contains.
func TestReadPunktJSON(t *testing.T) {
	p, err := readPunktJSON(strings.NewReader(`{"AbbrevTypes":{"u.s":1},"Collocations":{"a,b":1},"SentStarters":{"she":1,"he":1},"OrthoContext":{"x":4}}`))
	require.NoError(t, err)
	require.Equal(t, []string{"In the U.S. She left."}, p.Sentences("In the U.S. She left."))
	require.Equal(t, []string{"In the U.S.", "He left."}, p.Sentences("In the U.S. He left."))
}
