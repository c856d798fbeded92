//go:build cgo && !noloadgen

package loadgen_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/stretchr/testify/require"
)

// The library contains the SHA-1 of the sources from which it was built. They must equal those of the fetched source
// package.
func TestSHA1OfFilesIsTheSourcePackages(t *testing.T) {
	packages, err := filepath.Glob("../third_party/*.tar.gz")
	require.NoError(t, err)
	if len(packages) == 0 || otherLoadGen() {
		t.Skip("third_party holds no source package of the linked library")
	}
	require.Len(t, packages, 1)
	sums := map[string]string{}
	readPackage(t, packages[0], func(name string, content []byte) {
		sum := sha1.Sum(content)
		sums[name] = hex.EncodeToString(sum[:])
	})
	stated := loadgen.SHA1OfFiles()
	require.NotEmpty(t, stated)
	// The files that the package needs for its own build are generated when it is packed.
	for name, sum := range stated {
		if name = strings.TrimPrefix(name, "/"); sums[name] == "" {
			t.Logf("%s is stated, and not in the package", name)
			continue
		}
		require.Equal(t, sums[name], sum, name)
	}
	for _, name := range []string{"loadgen.cc", "logging.cc", "results.cc", "test_settings_internal.cc",
		"issue_query_controller.cc", "early_stopping.cc"} {
		require.True(t, stated[name] != "" || stated["/"+name] != "", "%s is not stated", name)
	}
}

func otherLoadGen() bool { return os.Getenv("LOADGEN_ROOT") != "" || os.Getenv("LOADGEN_SRC") != "" }

// readPackage calls f with every file of a source package. The file's name does not include the package's folder.
func readPackage(t *testing.T, path string, f func(name string, content []byte)) {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		if h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		_, name, _ := strings.Cut(h.Name, "/")
		f(name, content)
	}
}

func TestVersionIsThePinnedOne(t *testing.T) {
	if otherLoadGen() {
		t.Skip("another LoadGen than the pinned one is in use")
	}
	lock, err := os.ReadFile("../third_party/loadgen.lock")
	require.NoError(t, err)
	require.Contains(t, string(lock), loadgen.Version())
	require.Regexp(t, regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`), loadgen.Version())
	require.Regexp(t, regexp.MustCompile(`^[0-9a-f]{10}$`), loadgen.Revision())
}
