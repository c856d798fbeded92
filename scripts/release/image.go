package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageConfig is how the image runs; a test compares it with the last stage of Dockerfile.
var imageConfig = v1.Config{
	Entrypoint: []string{"/usr/local/bin/mlperf-go"},
	User:       "65532:65532",
	WorkingDir: "/work",
	Env:        []string{"MLPERF_GO_READY_FILE=/tmp/simulator.url"},
	Healthcheck: &v1.HealthConfig{
		Test:     []string{"CMD", "/usr/local/bin/mlperf-go", "sim", "--probe"},
		Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3,
	},
}

// writeImage writes an image for every machine of "arch=rootfs" pairs into dir, as an OCI layout.
func writeImage(version, dir string, machines []string) error {
	when, err := released()
	if err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	var parts []mutate.IndexAddendum
	for _, m := range machines {
		arch, rootfs, _ := strings.Cut(m, "=")
		image, err := imageOf(arch, rootfs, version, when)
		if err != nil {
			return fmt.Errorf("image for %s: %w", m, err)
		}
		parts = append(parts, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	index := mutate.IndexMediaType(mutate.AppendManifests(empty.Index, parts...), types.OCIImageIndex)
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": version, "io.containerd.image.name": "mlperf-go:" + version}))
}

// imageOf returns the image of one machine: a single layer, the files below rootfs.
func imageOf(arch, rootfs, version string, when time.Time) (v1.Image, error) {
	files, err := layerOf(rootfs, when)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)),
			nil
	},
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	config := imageConfig
	config.Labels = map[string]string{"org.opencontainers.image.version": version,
		"org.opencontainers.image.licenses": "Apache-2.0"}
	base := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	image, err := mutate.ConfigFile(base, &v1.ConfigFile{OS: "linux", Architecture: arch, Created: v1.Time{Time: when},
		Config: config, RootFS: v1.RootFS{Type: "layers"}})
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{Layer: layer,
		History: v1.History{Created: v1.Time{Time: when}, CreatedBy: "make release"}})
}

// layerOf returns the files below dir as a tar archive: by name, of root, at one time.
func layerOf(dir string, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		return addFile(w, dir, path, d, when)
	})
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

func addFile(w *tar.Writer, dir, path string, d fs.DirEntry, when time.Time) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	var target string
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = os.Readlink(path); err != nil {
			return err
		}
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		name += "/"
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname, h.ModTime = name, 0, 0, "", "", when
	if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
