package tokenizer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Open reads the first tokenizer in a model's folder that is a file. Without one, the error names the first candidate.
func TestTokenizerInAFolder(t *testing.T) {
	folder := t.TempDir()
	_, err := InFolder(folder)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "tokenizer.json")
	require.NoError(t, os.Mkdir(filepath.Join(folder, "tokenizer.json"), 0o755))
	_, err = InFolder(folder)
	require.EqualError(t, err, filepath.Join(folder, "tokenizer.json")+" is not a file")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tokenizer.model"), nil, 0o600))
	path, err := InFolder(folder)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(folder, "tokenizer.model"), path)
	require.NoError(t, os.Remove(filepath.Join(folder, "tokenizer.json")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tokenizer.json"), nil, 0o600))
	path, err = InFolder(folder)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(folder, "tokenizer.json"), path)
}

// Adjacent characters that are in no piece become one unknown token; with a user-defined piece between them they become
// two.
func TestUnknownCharactersAroundAUsersPiece(t *testing.T) {
	tok, err := load(parseModel, message(1, message(1, "<unk>", 3, pieceUnknown), 1, message(1, "<u>", 3, pieceUser),
		1, message(1, "\u2581"), 1, message(1, "a"), 2, message(3, kindBPE), 3, message(3, 0)), nil)
	require.NoError(t, err)
	require.Equal(t, []int32{0, 1, 0}, tok.Encode("\u2603\u2603<u>\u2603", false))
	require.Equal(t, []int32{0, 1, 1, 3, 0}, tok.Encode("\u2603<u><u>a\u2603\u2603", false))
}
