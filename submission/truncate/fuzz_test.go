package truncate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a log and its scores hold: the original is in the backup or the log is as it was, and a second call changes nothing.
func FuzzTruncate(f *testing.F) {
	f.Add([]byte("[\n]\n"), []byte("Results\n"))
	f.Add([]byte(strings.Repeat("x", endSize)), []byte("hash=00\n"))
	f.Add([]byte(strings.Repeat("{}", 3*endSize)), []byte(""))
	f.Add([]byte("ä"), []byte("\r\nhash=zz\r\n"))
	f.Fuzz(func(t *testing.T, log, text []byte) {
		root, backup := t.TempDir(), filepath.Join(t.TempDir(), "backup")
		folder := "closed/Me/results/s/b/Server/accuracy"
		at := filepath.Join(root, folder)
		require.NoError(t, os.MkdirAll(at, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(at, logName), log, 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(at, txtName), text, 0o644))
		o := Options{Submitter: "Me", Backup: backup}
		_, err := Tree(context.Background(), root, o)
		now, scores := read(t, filepath.Join(at, logName)), read(t, filepath.Join(at, txtName))
		if err != nil {
			require.Equal(t, string(log), now)
			require.Equal(t, string(text), scores)
			return
		}
		if now != string(log) {
			require.Len(t, now, 2*endSize+len(gap))
			require.Equal(t, string(log), read(t, filepath.Join(backup, folder, logName)))
			require.Equal(t, string(text), read(t, filepath.Join(backup, folder, txtName)))
		}
		if scores != string(text) {
			sum := sha256.Sum256(log)
			require.Equal(t, string(text)+"\nhash="+hex.EncodeToString(sum[:])+"\n", scores)
		}
		if _, err := Tree(context.Background(), root, o); err == nil {
			require.Equal(t, scores, read(t, filepath.Join(at, txtName)), "nothing is hashed twice")
		}
		require.Equal(t, now, read(t, filepath.Join(at, logName)))
	})
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}
