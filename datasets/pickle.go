package datasets

import (
	"errors"
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf-go/datasets/internal/pickle"
	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// pickleRecords returns the rows of a Python pickle, which is read completely before the first row.
type pickleRecords struct {
	table  *pickle.Table
	wanted func(name string) bool
	grown  growth
	out    []byte
	n      int
}

func newPickle(r io.Reader, p *plan, all bool) (records, error) {
	counted := &countingReader{r: r}
	names := pickle.Names{
		List: func(name string) (known, list bool) {
			kinds, known := p.kindsNamed(name)
			return known && kinds&kindArray == 0, kinds&(kindIDs|kindMessages) != 0
		},
		Wanted: func(name string) bool {
			_, known := p.byName[name]
			return known || all
		},
	}
	table, err := pickle.Read(counted, names)
	if err != nil {
		return nil, pickleFailed(err)
	}
	return &pickleRecords{table: table, wanted: names.Wanted, grown: growth{size: counted.n}}, nil
}

// pickleFailed converts an error of package pickle to an error of the file.
func pickleFailed(err error) error {
	var e *pickle.Error
	if !errors.As(err, &e) {
		return err
	}
	found := e.Found
	if e.At >= 0 {
		found += fmt.Sprintf(" (at byte %d)", e.At)
	}
	return &fileError{fault: &fault{found: found, expected: e.Expected, try: e.Try}, err: err}
}

func (p *pickleRecords) passed() int   { return p.n }
func (p *pickleRecords) shape() string { return "Python pickle" }

// notes reports the number of images that were pickled as pixels and had to be encoded.
func (p *pickleRecords) notes() []string {
	if n := p.table.Images(); n > 0 {
		return []string{fmt.Sprintf("%s pickled as pixels and encoded as PNG without loss, so the "+
			"bytes differ from the original files", plural.Count(n, "image was", "images were"))}
	}
	return nil
}

func (p *pickleRecords) next() ([]byte, int, error) {
	if p.n == p.table.Rows() {
		return nil, 0, io.EOF
	}
	var err error
	p.out, err = p.table.Append(p.out[:0], p.n, p.wanted)
	p.n++
	if err == nil && p.grown.add(len(p.out)) {
		err = errExpansion
	}
	if err != nil {
		return nil, 0, pickleFailed(err)
	}
	return p.out, 0, nil
}

// countingReader counts the bytes read through it.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
