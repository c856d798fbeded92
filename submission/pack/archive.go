package pack

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// archive writes the files and their folders in order. Times, owners and permissions are fixed, so that the same tree
// yields the same bytes.
func archive(ctx context.Context, w io.Writer, tree *os.Root, files []file, password string) (err error) {
	closers := []io.Closer{}
	defer func() {
		for i := len(closers) - 1; i >= 0; i-- {
			err = errors.Join(err, closers[i].Close())
		}
	}()
	if password != "" {
		c, err := encrypt(w, password)
		if err != nil {
			return err
		}
		closers, w = append(closers, c), c
	}
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	closers = append(closers, z, t)
	folders := map[string]bool{".": true}
	for _, f := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := mkdirs(t, folders, path.Dir(f.path)); err != nil {
			return err
		}
		if err := add(t, tree, f); err != nil {
			return fmt.Errorf("pack %s: %w", f.path, err)
		}
	}
	return nil
}

// atTime is the time of every entry.
var atTime = time.Unix(0, 0)

func mkdirs(t *tar.Writer, done map[string]bool, folder string) error {
	if done[folder] {
		return nil
	}
	if err := mkdirs(t, done, path.Dir(folder)); err != nil {
		return err
	}
	done[folder] = true
	return t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, ModTime: atTime})
}

func add(t *tar.Writer, tree *os.Root, f file) error {
	in, err := atomicfile.OpenIn(tree, f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.path, Size: f.size, Mode: 0o644,
		ModTime: atTime}); err != nil {
		return err
	}
	_, err = io.Copy(t, in) // fails if the file has grown
	return err
}

// compare reads a tarball and compares every file with its hash.
func compare(ctx context.Context, out *os.Root, tarball string, files []file, password string) error {
	f, err := atomicfile.OpenIn(out, tarball)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = bufio.NewReader(f)
	if password != "" {
		if in, err = decrypt(in, password); err != nil {
			return err
		}
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	want := map[string]string{}
	for _, f := range files {
		want[f.path] = f.sha256
	}
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		switch {
		case err == io.EOF:
			if len(want) > 0 {
				return fmt.Errorf("%s missing", plural.Count(len(want), "file is", "files are"))
			}
			_, err := io.Copy(io.Discard, z) // verifies the checksum at the end
			return err
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case h.Typeflag == tar.TypeDir:
			continue
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, t); err != nil {
			return err
		}
		if want[h.Name] != hex.EncodeToString(sum.Sum(nil)) {
			return fmt.Errorf("%s has different content", h.Name)
		}
		delete(want, h.Name)
	}
}
