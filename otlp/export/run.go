package export

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/report"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"go.opentelemetry.io/otel/trace"
)

// maxRecord bounds the record of a run, in bytes.
const maxRecord = 64 << 20

// Run is a finished run.
type Run struct {
	*report.Run
	digest     [sha256.Size]byte // of the record
	start, end time.Time
}

// Read reads the folder of a test or of a workload.
func Read(folder string) (*Run, error) {
	folder = filepath.Clean(folder)
	if kind := results.Holds(folder, "run"); kind != "" && !bench.Holds(folder) {
		return nil, fmt.Errorf("%s is the folder of a %s: give the folders of its runs", folder, kind)
	}
	read, name := report.Read, record.FileName
	if bench.Holds(folder) {
		read, name = bench.Report, bench.RecordName
	}
	text, err := atomicfile.ReadBelow(folder, name, maxRecord)
	if err != nil {
		return nil, err
	}
	r, err := read(folder)
	if err != nil {
		return nil, err
	}
	if r.Other != nil {
		return nil, fmt.Errorf("the record of %s cannot be used: %w", folder, r.Other)
	}
	if r.Requests == nil || r.Cut {
		return nil, fmt.Errorf("%s has no complete request log: spans and figures are made of it", folder)
	}
	run := &Run{Run: r, digest: sha256.Sum256(text)}
	run.limits()
	return run, nil
}

// limits finds when the first request was due and when the last one ended.
func (r *Run) limits() {
	r.EachRequest(func(e *ledger.Entry, dueNS int64, _ ledger.Times) {
		from, to := r.WallClock(dueNS), r.WallClock(max(e.DoneNS, e.IssuedNS, dueNS))
		if r.start.IsZero() || from.Before(r.start) {
			r.start = from
		}
		if to.After(r.end) {
			r.end = to
		}
	})
}

// trace returns the id of the run's trace, and root the id of its first span.
func (r *Run) trace() (id trace.TraceID) {
	copy(id[:], r.digest[:])
	id[0] |= 1 // an id must not be all zeros
	return id
}

func (r *Run) root() (id trace.SpanID) {
	copy(id[:], r.digest[len(trace.TraceID{}):])
	id[0] = id[0]&0x7f | 1 // requests have the first bit
	return id
}

// span returns the id of a request's span. --traceparent sends the same number as the parent of the server's spans.
func span(seq int32) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], 1<<63|uint64(uint32(seq)))
	return id
}

// instance returns a name of the run that is unique in the service.
func (r *Run) instance() string { return fmt.Sprintf("%x", r.digest[:8]) }

// server returns the address of the endpoint that answered a request; "": unknown.
func (r *Run) server(e *ledger.Entry) string {
	i := int(e.Endpoint)
	switch list := r.Record.Endpoints; {
	case i < 0:
	case r.Workload != nil && i < len(r.Workload.Endpoints):
		return address(r.Workload.Endpoints[i])
	case r.Workload == nil && i < len(list):
		return address(list[i].URL)
	}
	return ""
}

// address returns a URL without user and password, and any other name unchanged.
func address(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return ""
	case u.Host == "":
		return text
	}
	u.User = nil
	return u.String()
}
