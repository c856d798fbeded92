package atomicfile

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The lines that a killed writer flushed are found and read until the file has its final name.
func TestLeftFindsTheNewestUnfinishedFile(t *testing.T) {
	for _, suffix := range []string{"", ".gz", ".zst"} {
		path := filepath.Join(t.TempDir(), "lines.jsonl"+suffix)
		require.Empty(t, Left(path))
		lines, err := Private.CreateLines(path)
		require.NoError(t, err)
		defer lines.Abort()
		require.NoError(t, lines.AppendRaw([]byte(`{"a":1}`)))
		require.NoError(t, lines.Flush())

		left := Left(path)
		old := path + "." + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:26] + tmpSuffix
		require.NoError(t, os.WriteFile(old, nil, 0o600))
		require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)))
		require.NoError(t, os.WriteFile(path+".notes.tmp", nil, 0o600))
		require.NotEmpty(t, left)
		require.Equal(t, left, Left(path))

		r, err := OpenLines(left)
		require.NoError(t, err)
		text, _ := io.ReadAll(r) // the compressed stream has no end
		require.NoError(t, r.Close())
		require.Equal(t, "{\"a\":1}\n", string(text))

		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.Empty(t, Left(path))
	}
}
