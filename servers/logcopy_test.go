package servers

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/secret"
)

// TestLogCopier copies each part of a log once: without what earlier servers wrote, without secrets, colours and
// control characters, and without the beginning of a long part.
func TestLogCopier(t *testing.T) {
	dir, secrets := t.TempDir(), &secret.Redactor{}
	secrets.Add("hush-hush")
	path := filepath.Join(dir, "replica-0.log")
	log := func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	log("an earlier server\n")
	l := NewLogCopier(&Plan{Replicas: []Replica{{Log: path}}, secrets: redactor{secrets}})
	copied := func() string {
		run := t.TempDir()
		require.NoError(t, l.Copy(run, atomicfile.Private))
		text, err := os.ReadFile(filepath.Join(run, CopiesFolder, "replica-0.log"))
		require.NoError(t, err)
		return string(text)
	}
	log("\x1b[32mINFO\x1b[0m key hush-hush\n\x1b]0;title\a\n")
	text := copied()
	require.True(t, strings.HasPrefix(text, "INFO key "), text)
	for _, hidden := range []string{"earlier", "hush", "\x1b", "\a"} {
		require.NotContains(t, text, hidden)
	}
	log("second\n")
	require.Equal(t, "second\n", copied())
	require.Empty(t, copied())
	log(strings.Repeat(strings.Repeat("x", 99)+"\n", maxCopy/100) + string(bytes.Repeat([]byte("y"), 300)) + "\n")
	text = copied()
	require.True(t, strings.HasPrefix(text, "(297 bytes of the log are left out here)\n"), text[:100])
	require.True(t, strings.HasSuffix(text, "yyy\n"))

	require.NoError(t, os.Remove(path))
	require.ErrorContains(t, l.Copy(t.TempDir(), atomicfile.Private), "the log of replica 0 was not copied")
}
