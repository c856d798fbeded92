package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/stretchr/testify/require"
)

// asDockerfile writes a configuration as equivalent instructions.
func asDockerfile(t *testing.T, c v1.Config) string {
	t.Helper()
	list := func(words []string) string {
		text, err := json.Marshal(words)
		require.NoError(t, err)
		return strings.ReplaceAll(string(text), `","`, `", "`)
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }
	h := c.Healthcheck
	return fmt.Sprintf("ENV %s\nUSER %s\nWORKDIR %s\nENTRYPOINT %s\n"+
		"HEALTHCHECK --interval=%s --timeout=%s --start-period=%s --retries=%d CMD %s\n", strings.Join(c.Env, " "), c.User,
		c.WorkingDir, list(c.Entrypoint), seconds(h.Interval), seconds(h.Timeout), seconds(h.StartPeriod), h.Retries,
		list(h.Test[1:]))
}

func TestTheDockerfileMakesTheSameImage(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	require.NoError(t, err)
	_, last, ok := strings.Cut(string(text), "\nFROM scratch\n")
	require.True(t, ok, "the last stage holds only our files")
	require.Equal(t, "COPY --from=build /rootfs/ /\n"+asDockerfile(t, imageConfig), last)
}

// writtenImage writes the image of one made-up machine, and returns its layout.
func writtenImage(t *testing.T) string {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	root := filepath.Join(t.TempDir(), "rootfs")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "usr/bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "usr/bin/a"), []byte("program"), 0o755))
	require.NoError(t, os.Symlink("usr", filepath.Join(root, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(root, "tmp"), 0o777))
	require.NoError(t, os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky))
	dir := filepath.Join(t.TempDir(), "image")
	require.NoError(t, writeImage("v1.2.3", dir, []string{"arm64=" + root}))
	return dir
}

func TestTheImage(t *testing.T) {
	dir := writtenImage(t)
	index, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Equal(t, "v1.2.3", manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
	machines, err := index.ImageIndex(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	manifest, err = machines.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	require.Equal(t, "linux/arm64", manifest.Manifests[0].Platform.String())
	image, err := machines.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "arm64", config.Architecture)
	require.Equal(t, "65532:65532", config.Config.User)
	require.NotNil(t, config.Config.Healthcheck)
	layers, err := image.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 1)
	files, err := layers[0].Uncompressed()
	require.NoError(t, err)
	text, err := io.ReadAll(files)
	require.NoError(t, err)
	require.Contains(t, string(text), "program")
}

// Two images of the same files are equal byte for byte, wherever and whenever the files were written.
func TestTheImageIsReproducible(t *testing.T) {
	first, second := writtenImage(t), writtenImage(t)
	contents := func(dir string) map[string]string {
		files := map[string]string{}
		require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			files[strings.TrimPrefix(path, dir)] = string(text)
			return err
		}))
		return files
	}
	require.Equal(t, contents(first), contents(second))
	require.Greater(t, len(contents(first)), 5)
}
