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

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/treefs"
)

// Options say what is packed, and where to.
type Options struct {
	Root      string // of the tree
	Output    string // folder of the files that are made; it must not lie in the tree
	Submitter string // whose folders are packed; empty: the tree's only submitter
	Password  string // empty: not encrypted
}

// Problem is one file that must not be packed.
type Problem struct {
	Path string `json:"path"` // below the root
	Code string `json:"code"`
	Text string `json:"text"`
}

// Refusal lists everything that must not be packed.
type Refusal struct{ Problems []Problem }

func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d things must not be packed:\n", len(r.Problems))
	for _, p := range r.Problems[:min(len(r.Problems), maxShown)] {
		fmt.Fprintf(&b, "  %s: %s (%s)\n", p.Path, p.Text, p.Code)
	}
	if more := len(r.Problems) - maxShown; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String() + "nothing was packed"
}

// maxShown bounds the problems that a refusal lists.
const maxShown = 100

// Result is what was packed.
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

// The names of the files that are made, around the submitter's; the first two are the organisers'.
const (
	namePrefix    = "mlperf_submission_"
	tarballSuffix = ".tar.gz"
	sha1Suffix    = ".sha1"
	sha256Suffix  = ".sha256"
	listSuffix    = ".files.sha256"
)

// writeIn is atomicfile.WriteIn; a test lets it write something else.
var writeIn = atomicfile.WriteIn

// Pack makes the tarball. A *Refusal names what must not be in it; then nothing is written. No link in the tree is
// followed, and none in the place of a file that is made.
func Pack(ctx context.Context, o Options) (*Result, error) {
	fail := func(err error) (*Result, error) {
		var refused *Refusal
		if errors.As(err, &refused) {
			return nil, refused
		}
		return nil, fmt.Errorf("packing %s: %w", o.Root, err)
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
		return fail(fmt.Errorf("the output folder cannot be looked at: %w", err))
	case inside:
		return fail(fmt.Errorf("the output folder %s lies in the tree; name one outside", o.Output))
	}
	files, err := list(ctx, tree, submitter)
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return fail(fmt.Errorf("the output folder cannot be made: %w", err))
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
		return archive(ctx, w, tree, files,
			o.Password)
	}); err != nil {
		return nil, err
	}
	if err := compare(ctx, out, name+tarballSuffix, files, o.Password); err != nil {
		err = fmt.Errorf("the packed file %s is not what was to be packed: %w; look at the disk, and pack again", r.Tarball,
			err)
		return nil, errors.Join(err, out.Remove(name+tarballSuffix))
	}
	if err := r.sums(out, name, files); err != nil {
		return nil, err
	}
	return r, nil
}

// submitter is the one whose folders are packed. A link in the place of a division is refused: it may hide one.
func (o Options) submitter(tree *os.Root) (string, error) {
	found := map[string]bool{}
	for _, division := range layout.Divisions() {
		entries, err := treefs.Entries(tree, division)
		switch {
		case errors.Is(err, fs.ErrNotExist):
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
		return "", fmt.Errorf("it holds no submitter's folder below %s", strings.Join(layout.Divisions(), ", "))
	case o.Submitter == "" && len(found) > 1:
		return "", fmt.Errorf("it holds %d submitters: name the one to pack", len(found))
	case o.Submitter != "" && !found[o.Submitter]:
		return "", fmt.Errorf("it holds no submitter %q", o.Submitter)
	case o.Submitter != "":
		return o.Submitter, nil
	}
	for name := range found {
		return name, nil
	}
	return "", nil
}

// sums writes the checksums, as sha1sum and sha256sum do, so that both programs check them.
func (r *Result) sums(out *os.Root, name string, files []file) error {
	f, err := atomicfile.OpenIn(out, name+tarballSuffix)
	if err != nil {
		return err
	}
	defer f.Close()
	first, second := sha1.New(), sha256.New()
	if r.Bytes, err = io.Copy(io.MultiWriter(first, second), f); err != nil {
		return fmt.Errorf("hashing %s: %w", r.Tarball, err)
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
