package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// Open reads and checks a data set file. It returns the first fault as an *Error; errors of other types concern the
// options. It accepts fewer records than the benchmark's.
func Open(path string, o Options) (*Dataset, error) {
	d, errs := read(path, o, 1)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return d, nil
}

// Check is like Open but continues after a bad record and returns up to most errors. The data set contains the good
// records; it is nil if the file could not be read at all. A fault that several records share is one error.
func Check(path string, o Options, most int) (*Dataset, []error) {
	return read(path, o, max(most, 1))
}

// Each reads and checks a file like Open. It calls take with each sample instead of keeping it, so that memory does not
// grow with the file. A sample is valid only during the call; its Index counts the samples. The returned data set has
// no samples. If take returns an error, Each stops and returns it.
func Each(path string, o Options, take func(*Sample) error) (*Dataset, error) {
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	r := newReader(path, o, p, 1)
	n := 0
	r.keep = func(_ []byte, s Sample, has presence) error {
		r.marked = r.marked || has.mark
		s.Index = n
		n++
		return take(&s)
	}
	if r.read(src); len(r.errs) > 0 {
		return nil, r.errs[0]
	}
	d := &Dataset{Path: path, Schema: o.Schema, Format: r.format, Notes: r.notes(),
		WithoutTemplate: r.withoutTemplate(), marked: r.marked}
	if d.SHA256, err = src.sum(); err != nil {
		return nil, readFailed(path, err)
	}
	return d, nil
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
	r := newReader(path, o, p, most)
	r.read(src)
	d := &Dataset{Path: path, Schema: o.Schema, Format: r.format, Samples: r.samples, Notes: r.notes(),
		WithoutTemplate: r.withoutTemplate(), marked: r.marked}
	if r.stored {
		d.Store, d.free = o.Store, r.free
	}
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
	most    int  // maximum number of errors
	all     bool // whether records include columns that are not in the schema
	format  string
	source  records
	dec     *decoder
	check   *validator
	keep    func(record []byte, s Sample, has presence) error // receives each good record
	samples []Sample
	free    []func() // functions that free the samples' messages in the store
	stored  bool     // whether messages went to the store
	marked  bool     // whether a record has the mark of a synthetic set
	images  int      // number of records whose messages were composed from raw fields
	errs    []error

	reported map[fault]*Error // errors by fault; the offset of the fault is 0 here
}

func newReader(path string, o Options, p *plan, most int) *reader {
	r := &reader{path: path, o: o, most: most, dec: newDecoder(p, o)}
	r.check = newValidator(o, p.promptColumns(), presenceNames{
		ids: r.dec.fieldOf(roleIDs), text: r.dec.fieldOf(roleInput), messages: r.dec.fieldOf(roleMessages),
		id: r.dec.fieldOf(roleID)})
	r.keep = r.keepSample
	return r
}

// read reads a whole file.
func (r *reader) read(src *source) {
	var err error
	if r.source, err = r.begin(src); err != nil {
		r.failed(nil, 0, err)
		return
	}
	for r.o.Limit <= 0 || r.source.passed() < r.o.Limit {
		record, line, err := r.source.next()
		if err == io.EOF {
			break
		}
		var bad *recordError
		switch {
		case errors.As(err, &bad):
			r.report(r.source.passed(), line, bad.fault, nil)
		case err != nil:
			r.failed(record, line, err)
			return
		default:
			if err := r.record(record, line); err != nil {
				r.errs = append(r.errs, err)
				return
			}
		}
		if len(r.errs) >= r.most {
			return
		}
	}
	if r.source.passed() == 0 {
		r.report(0, 0, &fault{found: "0 records", expected: "at least one", try: "check that the file is the data set"}, nil)
	}
	r.format = r.source.shape() + src.packing
}

// withoutTemplate returns the number of prompts that this package composed from raw fields in its own words, because
// there was no template.
func (r *reader) withoutTemplate() int {
	if r.o.Template != nil {
		return 0
	}
	return r.images
}

// notes returns remarks for users about how the file was read.
func (r *reader) notes() []string {
	var notes []string
	if n, ok := r.source.(interface{ notes() []string }); ok {
		notes = n.notes()
	}
	if r.withoutTemplate() > 0 {
		notes = append(notes, fmt.Sprintf("%s composed from raw fields without a prompt template: the "+
			"wording is not the benchmark's (--prompt-template)", plural.Count(r.images, "prompt was", "prompts were")))
	}
	return notes
}

// record decodes, checks and keeps one record. It returns an error only if keep fails.
func (r *reader) record(record []byte, line int) error {
	s, has, f := r.dec.decode(record)
	if f == nil && r.o.lengths {
		f = cut(&s)
	}
	if f == nil {
		f = r.check.check(&s, has)
	}
	if f != nil {
		if line > 0 {
			line += bytes.Count(record[:min(f.offset, len(record))], []byte{'\n'})
		}
		r.report(r.source.passed(), line, f, nil)
		return nil
	}
	if s.ImageBytes > 0 {
		r.images++
	}
	return r.keep(record, s, has)
}

// keepSample adds a sample to the data set.
func (r *reader) keepSample(_ []byte, s Sample, has presence) error {
	r.marked = r.marked || has.mark
	s.Index = len(r.samples)
	var free func()
	var err error
	if s.Messages, free, err = r.keepMessages(s.Messages); err != nil {
		return fmt.Errorf("cannot keep the messages of record %d of data set %s: %w", s.Index+1, r.path, err)
	}
	if has.ids {
		s.InputIDs = r.dec.arena.keep(s.InputIDs)
	}
	r.samples, r.free = append(r.samples, s), append(r.free, free)
	return nil
}

// failed reports why the file could not be split into records. Nothing more can be read after it.
func (r *reader) failed(record []byte, line int, err error) {
	n := 0
	if r.source != nil {
		n = r.source.passed()
	}
	if already, ok := errors.AsType[*Error](err); ok {
		r.errs = append(r.errs, already)
		return
	}
	var fe *framingError
	var whole *fileError
	switch {
	case errors.As(err, &whole):
		r.report(n, line, whole.fault, whole.err)
	case errors.Is(err, ErrOption):
		r.errs = append(r.errs, err)
	case errors.As(err, &fe):
		if record == nil {
			n++
		}
		r.report(n, line+bytes.Count(record, []byte{'\n'}), fe.fault, nil)
	case errors.Is(err, errCut), errors.Is(err, errTooLong):
		// A missing quote or bracket extends a record to the end of the file, so report that place instead. Ignore the
		// last bytes, since a truncated word or escape fails at its start.
		s := scanner{b: record}
		if f := s.value(); len(record) > 0 && f != nil && f.offset < len(record)-6 {
			r.report(n, line+bytes.Count(record[:f.offset], []byte{'\n'}), f, nil)
		} else if errors.Is(err, errTooLong) {
			r.report(n, line, &fault{found: fmt.Sprintf("a record of more than %d MiB", maxRecord>>20),
				expected: "a shorter one", try: "check for a missing bracket or quote"}, nil)
		} else {
			r.report(n, line+bytes.Count(record, []byte{'\n'}),
				&fault{found: "the end of the file inside " + where(record), expected: "a complete file",
					try: "the file is truncated: get it again"}, io.ErrUnexpectedEOF)
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

// report adds a fault of a record. If an earlier record has the same fault, report only counts it there, because a
// missing column is missing in every record.
func (r *reader) report(record, line int, f *fault, cause error) {
	same := fault{field: f.field, found: f.found, expected: f.expected, try: f.try}
	if earlier := r.reported[same]; earlier != nil && record > 0 {
		earlier.more++
		return
	}
	e := &Error{Path: r.path, Record: record, Line: line, Field: f.field, Found: f.found,
		Expected: f.expected, Try: f.try, Err: cause}
	r.errs = append(r.errs, e)
	if r.reported == nil {
		r.reported = map[fault]*Error{}
	}
	r.reported[same] = e
}

func readFailed(path string, err error) *Error {
	e := &Error{Path: path, Found: fmt.Sprintf("a read error (%v)", err), Expected: "to read the file to its end",
		Try: "check the disk and the file", Err: err}
	switch {
	case errors.Is(err, errTemporary):
		e.Found, e.Expected, e.Try = err.Error(), "a writable folder", "choose one with the environment variable TMPDIR"
	case errors.Is(err, errExpansion):
		e.Found, e.Expected, e.Try = err.Error(), "data", "unpack the file yourself if you trust it"
	case errors.Is(err, errCompressed):
		e.Found, e.Expected, e.Try = fmt.Sprintf("damaged compressed data (%v)", err), "a complete gzip or zstd file",
			"get the file again"
	case errors.Is(err, os.ErrNotExist):
		e.Found, e.Expected, e.Try = "no such file", "", "check the path"
	case errors.Is(err, os.ErrPermission):
		e.Found, e.Expected, e.Try = "a file without read permission", "a readable one",
			"check its permissions and its folders'"
	}
	return e
}
