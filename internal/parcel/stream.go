package parcel

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// manifestName is the name of the first entry of a stream.
const manifestName = ".manifest.json"

// Limits contains the limits of what Receive accepts.
type Limits struct {
	Files    int
	Bytes    int64 // maximum total size of all files in bytes
	Manifest int64 // maximum size of the manifest in bytes
}

// DefaultLimits are far above the results of any test: 10 million requests leave less than 4 GiB.
var DefaultLimits = Limits{Files: 100_000, Bytes: 1 << 40, Manifest: 64 << 20}

// Send writes the files below root, except those that the receiver already has.
func Send(w io.Writer, root *os.Root, have []File) error {
	m, err := Make(root)
	if err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	// Use the fastest level, since most results are already compressed and the network is faster than a better level.
	packed, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	err = put(archive, manifestName, int64(len(text)), bytes.NewReader(text))
	for _, f := range m.Files {
		if err == nil && !slices.Contains(have, f) {
			err = putFile(archive, root, f)
		}
	}
	if err != nil {
		_ = packed.Close() // the stream is incomplete anyway, which the receiver will notice
		return fmt.Errorf("sending %s: %w", root.Name(), err)
	}
	return errors.Join(archive.Close(), packed.Close())
}

func put(archive *tar.Writer, name string, size int64, from io.Reader) error {
	if err := archive.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := io.CopyN(archive, from, size)
	return err
}

// putFile sends a file with the size of the manifest. A file whose size has changed since then fails here or at the
// receiver.
func putFile(archive *tar.Writer, root *os.Root, f File) error {
	file, err := atomicfile.OpenIn(root, f.Path)
	if err != nil {
		return err
	}
	defer file.Close() // only read, so an error of Close does not matter
	if err := put(archive, f.Path, f.Size, file); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return nil
}

// Receive writes the files of a stream below root. An error means that files are missing. Even then it returns the
// manifest if that was read: completely received files stay, and Have finds them.
func Receive(r io.Reader, root *os.Root, limits Limits) (*Manifest, error) {
	unpacked, err := zstd.NewReader(r, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer unpacked.Close()
	archive := tar.NewReader(unpacked)
	m, err := receiveManifest(archive, limits)
	if err != nil {
		return nil, fmt.Errorf("receiving results: %w", err)
	}
	if err := receiveFiles(archive, root, m); err != nil {
		return m, fmt.Errorf("receiving results: %w", err)
	}
	return m, nil
}

func receiveManifest(archive *tar.Reader, limits Limits) (*Manifest, error) {
	header, err := archive.Next()
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", ended(err))
	}
	if header.Name != manifestName || header.Size > limits.Manifest {
		return nil, fmt.Errorf("the stream begins with %q of %d bytes, expected a manifest of at most %d",
			header.Name, header.Size, limits.Manifest)
	}
	var m Manifest
	decoder := json.NewDecoder(archive)
	if err := decoder.Decode(&m); err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", ended(err))
	}
	if err := m.check(limits); err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	return &m, nil
}

// ended replaces the error io.EOF by an error that states that the stream ended early.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func receiveFiles(archive *tar.Reader, root *os.Root, m *Manifest) error {
	left := map[string]File{}
	for _, f := range m.Files {
		left[f.Path] = f
	}
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return missing(root, left)
		}
		if err != nil {
			return fmt.Errorf("the stream was cut: %w", err)
		}
		f, ok := left[header.Name]
		if !ok || header.Typeflag != tar.TypeReg || header.Size != f.Size {
			return fmt.Errorf("the stream has the entry %q, which its manifest does not list so", header.Name)
		}
		delete(left, header.Name)
		if err := receiveFile(archive, root, f); err != nil {
			return err
		}
	}
}

func receiveFile(from io.Reader, root *os.Root, f File) error {
	if err := makeFolderOf(root, f.Path); err != nil {
		return err
	}
	return atomicfile.Private.WriteIn(root, f.Path, func(w io.Writer) error {
		sum := sha256.New()
		if _, err := io.CopyN(io.MultiWriter(w, sum), from, f.Size); err != nil {
			return fmt.Errorf("the stream was cut: %w", ended(err))
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
			return fmt.Errorf("its SHA-256 is %s, and the manifest states %s", got, f.SHA256)
		}
		return nil
	})
}

// missing returns an error that names a file which neither arrived nor existed before.
func missing(root *os.Root, left map[string]File) error {
	for name, f := range left {
		if got, err := describe(root, name); err != nil || got != f {
			return fmt.Errorf("the stream ended without %q", name)
		}
	}
	return nil
}
