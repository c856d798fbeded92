package backends_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// TestClientCertificates reads certificate and key from two files or one. No error contains text from a file.
func TestClientCertificates(t *testing.T) {
	cert, key, err := wiretest.ClientFiles(t.TempDir(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	certText, err := os.ReadFile(cert)
	require.NoError(t, err)
	keyText, err := os.ReadFile(key)
	require.NoError(t, err)
	both := filepath.Join(t.TempDir(), "both.pem")
	require.NoError(t, os.WriteFile(both, append(certText, keyText...), 0o600))
	damaged := filepath.Join(t.TempDir(), "damaged.pem")
	require.NoError(t, os.WriteFile(damaged, keyText[:len(keyText)/2], 0o600))
	_, other, err := wiretest.ClientFiles(t.TempDir(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	for _, c := range []struct{ name, cert, key, text string }{
		{"two files", cert, key, ""},
		{"one file", both, "", ""},
		{"no certificate", "", key, "but no certificate"},
		{"no key", cert, "", "cannot be used"},
		{"another key", cert, other, "does not match"},
		{"a damaged key", cert, damaged, "cannot be used"},
		{"a missing file", cert, key + ".missing", "no such file"},
	} {
		list, err := backends.ClientCertificates(c.cert, c.key)
		if c.text == "" {
			require.NoError(t, err, c.name)
			require.Len(t, list, 1, c.name)
			continue
		}
		require.ErrorContains(t, err, c.text, c.name)
		require.NotContains(t, err.Error(), string(keyText[40:60]), c.name)
	}
	list, err := backends.ClientCertificates("", "")
	require.NoError(t, err)
	require.Nil(t, list)
}
