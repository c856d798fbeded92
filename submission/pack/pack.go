package pack

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/treefs"
)

// Options are the inputs of Pack.
type Options struct {
	Root      string // root of the tree
	Output    string // folder for the output files, outside the tree
	Submitter string // submitter to pack; "": the only one in the tree
	Password  string // "": do not encrypt
}

// Problem is one file that must not be packed.
type Problem struct {
	Path string `json:"path"` // relative to the root
	Code string `json:"code"`
	Text string `json:"text"`
}

// Refusal lists everything that must not be packed.
type Refusal struct{ Problems []Problem }

func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "files that must not be packed (%d):\n", len(r.Problems))
	for _, p := range r.Problems[:min(len(r.Problems), maxShown)] {
		fmt.Fprintf(&b, "  %s: %s (%s)\n", p.Path, p.Text, p.Code)
	}
	if more := len(r.Problems) - maxShown; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String() + "nothing was packed"
}

// maxShown limits the problems in the text of a refusal.
const maxShown = 100

// Result describes the packed file.
type Result struct {
	Tarball   string `json:"tarball"`
	SHA1      string `json:"sha1"`   // of the tarball, for the organisers
	SHA256    string `json:"sha256"` // of the tarball
	List      string `json:"list"`   // SHA-256 of every file in it
	Submitter string `json:"submitter"`
	Files     int    `json:"files"`
	Bytes     int64  `json:"bytes"` // of the tarball
	Encrypted bool   `json:"encrypted"`
}

// The prefix and suffixes of the output files' names; the first three are the organisers'.
const (
	namePrefix    = "mlperf_submission_"
	tarballSuffix = ".tar.gz"
	sha1Suffix    = ".sha1"
	sha256Suffix  = ".sha256"
	listSuffix    = ".files.sha256"
)

// writeIn is atomicfile.WriteIn, replaced by a test.
var writeIn = atomicfile.WriteIn

// Pack writes the tarball. If the error is a *Refusal, nothing was written. Pack follows no link, neither in the tree
// nor in place of an output file.
func Pack(ctx context.Context, o Options) (*Result, error) {
	fail := func(err error) (*Result, error) {
		var refused *Refusal
		if errors.As(err, &refused) {
			return nil, refused
		}
		return nil, fmt.Errorf("pack %s: %w", o.Root, err)
	}
	tree, err := os.OpenRoot(o.Root)
	if err != nil {
		return fail(err)
	}
	defer tree.Close()
	submitter, err := o.submitter(tree)
	if err != nil {
		return fail(err)
	}
	switch inside, err := treefs.Within(o.Root, o.Output); {
	case err != nil:
		return fail(fmt.Errorf("cannot resolve the output folder: %w", err))
	case inside:
		return fail(fmt.Errorf("the output folder %s is inside the tree; choose one outside", o.Output))
	}
	files, err := list(ctx, tree, submitter)
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return fail(fmt.Errorf("cannot create the output folder: %w", err))
	}
	out, err := os.OpenRoot(o.Output)
	if err != nil {
		return fail(err)
	}
	defer out.Close()
	name := namePrefix + submitter
	base := filepath.Join(o.Output, name)
	r := &Result{Tarball: base + tarballSuffix, List: base + listSuffix, Submitter: submitter, Files: len(files),
		Encrypted: o.Password != ""}
	if err := writeIn(out, name+tarballSuffix, func(w io.Writer) error {
		return archive(ctx, w, tree, files, o.Password)
	}); err != nil {
		return nil, err
	}
	if err := compare(ctx, out, name+tarballSuffix, files, o.Password); err != nil {
		err = fmt.Errorf("the packed file %s differs from the tree: %w; check the disk, and pack again", r.Tarball, err)
		return nil, errors.Join(err, out.Remove(name+tarballSuffix))
	}
	if err := r.sums(out, name, files); err != nil {
		return nil, err
	}
	return r, nil
}

// submitter returns the submitter to pack. It refuses a link in place of a division, since that may hide a submitter.
func (o Options) submitter(tree *os.Root) (string, error) {
	found := map[string]bool{}
	for _, division := range layout.Divisions() {
		entries, err := treefs.Entries(tree, division)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // list refuses a file
		case atomicfile.IsLink(err):
			return "", &Refusal{[]Problem{{division, notPlain, err.Error()}}}
		case err != nil:
			return "", err
		}
		for _, e := range entries {
			if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
				found[e.Name()] = true
			}
		}
	}
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("no submitter's folder found in %s", strings.Join(layout.Divisions(), ", "))
	case o.Submitter == "" && len(found) > 1:
		return "", fmt.Errorf("the tree has %d submitters; choose one with --submitter", len(found))
	case o.Submitter != "" && !found[o.Submitter]:
		return "", fmt.Errorf("the tree has no submitter %q", o.Submitter)
	case o.Submitter != "":
		return o.Submitter, nil
	}
	for name := range found {
		return name, nil
	}
	return "", nil
}

// sums writes the checksums in the format of sha1sum and sha256sum.
func (r *Result) sums(out *os.Root, name string, files []file) error {
	f, err := atomicfile.OpenIn(out, name+tarballSuffix)
	if err != nil {
		return err
	}
	defer f.Close()
	first, second := sha1.New(), sha256.New()
	if r.Bytes, err = io.Copy(io.MultiWriter(first, second), f); err != nil {
		return fmt.Errorf("hash %s: %w", r.Tarball, err)
	}
	r.SHA1, r.SHA256 = hex.EncodeToString(first.Sum(nil)), hex.EncodeToString(second.Sum(nil))
	var lines strings.Builder
	for _, f := range files {
		fmt.Fprintf(&lines, "%s  %s\n", f.sha256, f.path)
	}
	for _, sum := range []struct{ suffix, text string }{
		{sha1Suffix, r.SHA1 + "  " + name + tarballSuffix + "\n"},
		{sha256Suffix, r.SHA256 + "  " + name + tarballSuffix + "\n"}, {listSuffix, lines.String()},
	} {
		if err := atomicfile.WriteBytesIn(out, name+sum.suffix, []byte(sum.text)); err != nil {
			return err
		}
	}
	return nil
}
