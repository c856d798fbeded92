package pack

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/submission/layout"
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

// Pack makes the tarball. A *Refusal names what must not be in it; then nothing is written.
func Pack(ctx context.Context, o Options) (*Result, error) {
	submitter, err := o.submitter()
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", o.Root, err)
	}
	switch inside, err := within(o.Root, o.Output); {
	case err != nil:
		return nil, fmt.Errorf("packing %s: the output folder can not be looked at: %w", o.Root, err)
	case inside:
		return nil, fmt.Errorf("packing %s: the output folder %s lies in the tree; name one outside", o.Root, o.Output)
	}
	files, err := list(ctx, o.Root, submitter)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return nil, fmt.Errorf("packing %s: the output folder can not be made: %w", o.Root, err)
	}
	base := filepath.Join(o.Output, namePrefix+submitter)
	r := &Result{Tarball: base + tarballSuffix, List: base + listSuffix, Submitter: submitter, Files: len(files), Encrypted: o.Password != ""}
	if err := atomicfile.Write(r.Tarball, func(w io.Writer) error { return archive(ctx, w, o.Root, files, o.Password) }); err != nil {
		return nil, err
	}
	if err := compare(ctx, r.Tarball, files, o.Password); err != nil {
		return nil, fmt.Errorf("the packed file %s is not what was to be packed: %w; look at the disk, and pack again", r.Tarball, err)
	}
	if err := r.sums(base, files); err != nil {
		return nil, err
	}
	return r, nil
}

// submitter is the one whose folders are packed.
func (o Options) submitter() (string, error) {
	found := map[string]bool{}
	for _, division := range layout.Divisions() {
		entries, err := os.ReadDir(filepath.Join(o.Root, division))
		if err != nil && !os.IsNotExist(err) {
			return "", err
		}
		for _, e := range entries {
			if e.IsDir() {
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

// within says whether a folder is root or lies below it.
func within(root, folder string) (bool, error) {
	a, err := filepath.Abs(root)
	if err != nil {
		return false, err
	}
	b, err := filepath.Abs(folder)
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(a, b)
	return err == nil && (rel == "." || !strings.HasPrefix(rel, "..")), err
}

// sums writes the checksums, as sha1sum and sha256sum do, so that both programs check them.
func (r *Result) sums(base string, files []file) error {
	f, err := os.Open(r.Tarball)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha1.New()
	if r.Bytes, err = io.Copy(h, f); err != nil {
		return fmt.Errorf("hashing %s: %w", r.Tarball, err)
	}
	r.SHA1 = hex.EncodeToString(h.Sum(nil))
	if r.SHA256, err = atomicfile.SHA256(r.Tarball); err != nil {
		return err
	}
	name := filepath.Base(r.Tarball)
	if err := atomicfile.WriteBytes(base+sha1Suffix, []byte(r.SHA1+"  "+name+"\n")); err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(base+sha256Suffix, []byte(r.SHA256+"  "+name+"\n")); err != nil {
		return err
	}
	return atomicfile.Write(r.List, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		for _, f := range files {
			fmt.Fprintf(out, "%s  %s\n", f.sha256, f.path)
		}
		return out.Flush()
	})
}
