package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Open reads and checks a data set file. The first thing wrong is returned as an *Error (an error of another type concerns
// the options). Fewer records than a benchmark's are no error.
func Open(path string, o Options) (*Dataset, error) {
	d, errs := read(path, o, 1)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return d, nil
}

// Check reads a data set file as Open does, but goes on after a bad record and returns up to most errors. The data set holds
// the good records; it is nil where the file could not be read at all.
func Check(path string, o Options, most int) (*Dataset, []error) {
	return read(path, o, max(most, 1))
}

func read(path string, o Options, most int) (*Dataset, []error) {
	p, err := newPlan(o)
	if err != nil {
		return nil, []error{err}
	}
	src, err := openSource(path)
	if err != nil {
		return nil, []error{err}
	}
	defer src.Close()
	r := reader{path: path, o: o, most: most, dec: newDecoder(p, o), frames: newFramer(src.content)}
	r.check = newValidator(o, p.promptColumns(), presenceNames{
		ids: r.dec.fieldOf(roleIDs), text: r.dec.fieldOf(roleInput), messages: r.dec.fieldOf(roleMessages), id: r.dec.fieldOf(roleID)})
	r.all()
	d := &Dataset{Path: path, Schema: o.Schema, Samples: r.samples}
	if len(r.errs) < most {
		if d.SHA256, err = src.sum(); err != nil {
			r.errs = append(r.errs, readFailed(path, err))
		}
	}
	return d, r.errs
}

// reader reads the records of one file.
type reader struct {
	path    string
	o       Options
	most    int // stop after so many errors
	frames  *framer
	dec     *decoder
	check   *validator
	samples []Sample
	errs    []error
}

func (r *reader) all() {
	if f := r.checkHead(); f != nil {
		r.report(0, 0, f, nil)
		return
	}
	for r.o.Limit <= 0 || r.frames.records < r.o.Limit {
		record, line, err := r.frames.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			r.framing(record, line, err)
			return
		}
		if r.record(record, line); len(r.errs) >= r.most {
			return
		}
	}
	if r.frames.records == 0 {
		r.report(0, 0, &fault{found: "0 records", expected: "at least one", try: "check that the file is the data set"}, nil)
	}
}

// record decodes, checks and keeps one record.
func (r *reader) record(record []byte, line int) {
	s, has, f := r.dec.decode(record)
	if f == nil {
		f = r.check.check(&s, has)
	}
	if f != nil {
		r.report(r.frames.records, line+bytes.Count(record[:min(f.offset, len(record))], []byte{'\n'}), f, nil)
		return
	}
	s.Index = len(r.samples)
	if has.ids {
		s.InputIDs = r.dec.keepIDs(s.InputIDs)
	}
	r.samples = append(r.samples, s)
}

// framing reports why the stream could not be cut into records. After it nothing more can be read.
func (r *reader) framing(record []byte, line int, err error) {
	n := r.frames.records
	var fe *framingError
	switch {
	case errors.As(err, &fe):
		if record == nil {
			n++
		}
		r.report(n, line+bytes.Count(record, []byte{'\n'}), fe.fault, nil)
	case errors.Is(err, errCut), errors.Is(err, errTooLong):
		// A quote or bracket missing earlier makes a record run on to the end: that place is the one to name.
		// The last bytes do not count: a word or an escape that was cut off fails where it begins.
		s := scanner{b: record}
		if f := s.value(); len(record) > 0 && f != nil && f.offset < len(record)-6 {
			r.report(n, line+bytes.Count(record[:f.offset], []byte{'\n'}), f, nil)
		} else if errors.Is(err, errTooLong) {
			r.report(n, line, &fault{found: fmt.Sprintf("a record of more than %d MiB", maxRecord>>20), expected: "a shorter one", try: "check for a missing bracket or quote"}, nil)
		} else {
			r.report(n, r.frames.line, &fault{found: "the end of the file inside " + where(record), expected: "a complete file", try: "get the file again: it was cut off"}, io.ErrUnexpectedEOF)
		}
	default:
		r.errs = append(r.errs, readFailed(r.path, err))
	}
}

func where(record []byte) string {
	if len(record) > 0 {
		return "a record"
	}
	return "the array of records"
}

func (r *reader) report(record, line int, f *fault, cause error) {
	r.errs = append(r.errs, &Error{Path: r.path, Record: record, Line: line, Field: f.field, Found: f.found, Expected: f.expected, Try: f.try, Err: cause})
}

// heads are the beginnings of files that are no JSON, by what they are.
var heads = []struct{ begins, what, try string }{
	{"PAR1", "a Parquet file", "turn it into JSON Lines first"},
	{"\x80\x02", "a Python pickle", "turn it into JSON Lines first (a pickle can run code, so none is opened here)"},
	{"\x80\x03", "a Python pickle", "turn it into JSON Lines first (a pickle can run code, so none is opened here)"},
	{"\x80\x04", "a Python pickle", "turn it into JSON Lines first (a pickle can run code, so none is opened here)"},
	{"\x80\x05", "a Python pickle", "turn it into JSON Lines first (a pickle can run code, so none is opened here)"},
	{"PK\x03\x04", "a zip archive", "unpack it"},
	{"\xff\xfe", "UTF-16 text", "write the file again in UTF-8"},
	{"\xfe\xff", "UTF-16 text", "write the file again in UTF-8"},
	{"version https://git-lfs", "a Git LFS pointer, not the file itself", "fetch the file with git lfs pull"},
	{"<", "HTML or XML", "check where the file was downloaded from"},
	{"\x1f\x8b", "a gzip file inside a compressed file", "unpack it once"},
	{"\x28\xb5\x2f\xfd", "a zstd file inside a compressed file", "unpack it once"},
}

// checkHead recognises files that are no JSON at all, and passes a byte order mark.
func (r *reader) checkHead() *fault {
	head := r.frames.head(24)
	for _, h := range heads {
		if bytes.HasPrefix(head, []byte(h.begins)) {
			return &fault{found: h.what, expected: "a JSON array of objects, or JSON Lines", try: h.try}
		}
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		r.frames.take(3)
	}
	return nil
}

func readFailed(path string, err error) *Error {
	e := &Error{Path: path, Found: fmt.Sprintf("a failure (%v)", err), Expected: "to read the file to its end", Try: "check the disk and the file", Err: err}
	switch {
	case errors.Is(err, errExpansion):
		e.Found, e.Expected, e.Try = err.Error(), "data", "unpack the file yourself if you trust it"
	case errors.Is(err, errCompressed):
		e.Found, e.Expected, e.Try = fmt.Sprintf("damaged compressed data (%v)", err), "a complete gzip or zstd file", "get the file again"
	case errors.Is(err, os.ErrNotExist):
		e.Found, e.Expected, e.Try = "no such file", "a data set", "check the path"
	case errors.Is(err, os.ErrPermission):
		e.Found, e.Expected, e.Try = "a file that may not be read", "a readable one", "check its permissions and its folders'"
	}
	return e
}
