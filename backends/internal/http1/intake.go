// HOT PATH: next and release run once a query. No lock, no allocation once the line has its size.

package http1

import (
	"math"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// task is a query that has not begun.
type task struct {
	query      loadgen.Query
	dequeuedNS int64
}

// intake holds the queries that were taken from the source and wait for a place under the limits.
type intake struct {
	src      source
	fd       int // of the source
	batch    [256]loadgen.Query
	line     *balance.Line[task]
	limit    int  // requests that may be in flight; math.MaxInt: no limit
	ahead    int  // queries that are taken beyond limit, to wait in line; math.MaxInt: no limit
	busy     int  // requests that count towards limit
	queueMax int  // most queries in line at once
	ended    bool // the source has
}

// bulkAhead is how many queries of a bulk wait in line: few enough that they and their entries in the ledger are still
// in the processor's caches when they are sent, and enough for several endpoints.
const bulkAhead = 1 << 10

// lookAhead returns how many queries are taken beyond the limit. Those of LoadGen's schedule wait in line here, except
// those of a bulk, which come all at once and have no time of their own. If they choose their endpoints without regard
// to room, all wait here, so that none waits for the endpoint of another. A workload's source prepares a request only
// for one that was taken: the rest of an overload is to need no memory.
func lookAhead(isTimed, bulk, binds bool) int {
	switch {
	case isTimed:
		return 0
	case bulk && !binds:
		return bulkAhead
	}
	return math.MaxInt
}

// next returns a query that may be sent, and its endpoint. It counts as busy from then on.
func (i *intake) next() (t task, endpoint int, ok bool) {
	if t, endpoint, ok = i.line.Next(); ok {
		i.busy++
	}
	return t, endpoint, ok
}

// hasRoom reports whether the limit allows one more request.
func (i *intake) hasRoom() bool { return i.busy < i.limit }

// release ends the request of an endpoint: another one may be sent.
func (i *intake) release(endpoint int) {
	i.busy--
	i.line.Done(endpoint)
}

// spareFiles are left to the rest of the process: logs, results, probes.
const spareFiles = 200

// allowed returns how many requests may be in flight: what was configured, within the files that this process may open.
func allowed(c *backends.Config) int {
	limit := math.MaxInt
	if c.Concurrency > 0 {
		limit = c.Concurrency
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < math.MaxInt32 {
		limit = min(limit, max(1, (int(files.Cur)-spareFiles)/max(1, c.Loops)))
	}
	return limit
}
