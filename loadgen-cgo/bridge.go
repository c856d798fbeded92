//go:build cgo && !noloadgen

package loadgen

// #cgo CPPFLAGS: -I${SRCDIR}/../third_party/loadgen/include
// #cgo CXXFLAGS: -std=c++17 -O2 -Wall -Wextra -Wno-unused-parameter
// #cgo LDFLAGS: -L${SRCDIR}/../third_party/loadgen/lib -lmlperf_loadgen -lpthread -lm
// #cgo noescape lg_complete
// #cgo nocallback lg_complete
// #cgo noescape lg_first_token
// #cgo nocallback lg_first_token
// #include <stdlib.h>
// #include "bridge.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"strings"
	"sync/atomic"
	"unsafe"
)

// SUT is LoadGen's system under test. It owns the rings that LoadGen's issue thread fills.
type SUT struct {
	c       *C.lg_sut
	flushed *uint64 // belongs to c
	shards  []*Shard
}

// ConstructSUT makes a system under test with one ring per shard. LoadGen writes name into its logs. A ring holds
// capacity samples, rounded up to a power of two; if it is full, IssueQuery waits.
func ConstructSUT(name string, shards, capacity int) (*SUT, error) {
	if shards < 1 || capacity < 1 {
		return nil, fmt.Errorf("a system under test needs at least one shard and one slot, not %d and %d", shards, capacity)
	}
	if err := checkName("the system's name", name); err != nil {
		return nil, err
	}
	slots := 1
	for slots < capacity {
		slots <<= 1
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	s := &SUT{c: C.lg_sut_new(cname, C.size_t(shards), C.size_t(slots))}
	s.flushed = (*uint64)(unsafe.Pointer(C.lg_sut_flushed(s.c)))
	for i := range shards {
		s.shards = append(s.shards, newShard(C.lg_sut_ring(s.c, C.size_t(i))))
	}
	return s, nil
}

// checkName rejects a name that would break or forge a line in LoadGen's logs.
func checkName(what, name string) error {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		return fmt.Errorf("%s %q contains a quote, a backslash or a control character, which LoadGen writes into its JSON "+
			"lines unescaped", what, name)
	}
	return nil
}

// DestroySUT frees the rings. Call it after StartTest has returned and all consumers have stopped.
func DestroySUT(s *SUT) {
	C.lg_sut_free(s.c)
	s.c, s.flushed, s.shards = nil, nil, nil
}

// Shards returns the rings. Each must have exactly one consumer.
func (s *SUT) Shards() []*Shard { return s.shards }

// Flushes returns the number of IssueQuery calls before each FlushQueries call. Call it after StartTest has returned.
func (s *SUT) Flushes() []int {
	marks := make([]C.uint64_t, C.lg_sut_flushes(s.c, nil, 0))
	if len(marks) == 0 {
		return nil
	}
	C.lg_sut_flushes(s.c, &marks[0], C.size_t(len(marks)))
	out := make([]int, len(marks))
	for i, m := range marks {
		out[i] = int(m)
	}
	return out
}

// Flushed returns the number of samples that LoadGen had issued when it last ended a series of queries; 0: none has
// ended. It may be called during the test.
func (s *SUT) Flushed() int { return int(atomic.LoadUint64(s.flushed)) }

// QSL is LoadGen's query sample library.
type QSL struct {
	c                  *C.lg_qsl
	handle             cgo.Handle
	total, performance int
}

// sampleLoader holds the Go side of a QSL. It keeps the first error, because LoadGen's callbacks cannot return one.
type sampleLoader struct {
	load, unload func(indices []int) error
	err          error
	failed       func(error)
}

// ConstructQSL makes a sample library of total samples, of which performance samples fit into memory together.
// LoadGen's thread calls load and unload outside the timed phases. The first error of either is passed to failed once,
// and StartTest returns it.
func ConstructQSL(name string, total, performance int, load, unload func(indices []int) error,
	failed func(error)) (*QSL, error) {
	if err := checkName("the sample library's name", name); err != nil {
		return nil, err
	}
	if total < 1 || performance < 1 {
		return nil, fmt.Errorf("the sample library %q has %d samples, %d of them for performance; LoadGen needs at least "+
			"one of each", name, total, performance)
	}
	q := &QSL{total: total, performance: performance}
	q.handle = cgo.NewHandle(&sampleLoader{load: load, unload: unload, failed: failed})
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	q.c = C.lg_qsl_new(cname, C.size_t(total), C.size_t(performance), C.uintptr_t(q.handle))
	return q, nil
}

// DestroyQSL frees the library. Call it after StartTest has returned.
func DestroyQSL(q *QSL) {
	C.lg_qsl_free(q.c)
	q.handle.Delete()
	q.c = nil
}

// started enforces rule 10 of bridge.h: one test per process.
var started atomic.Bool

// ErrSecondTest is returned by StartTest if this process has already run a test.
var ErrSecondTest = errors.New("this process has already run a LoadGen test; LoadGen keeps state that a second one " +
	"would trip over: start another process")

// ThreadInfo describes the timer slack and the priority that the system granted to the thread that issues the queries.
type ThreadInfo struct {
	TimerSlackNS int64 `json:"timer_slack_ns"`
	Realtime     bool  `json:"realtime"` // whether the system permitted SCHED_FIFO
}

// StartTest runs one LoadGen test and returns when it has ended. LoadGen opens auditConfig instead of audit.config in
// the working folder; if that file does not exist, the test is not an audit. StartTest first rejects settings that
// would make LoadGen hang or crash.
func StartTest(s *SUT, q *QSL, settings TestSettings, log LogSettings, auditConfig string) (ThreadInfo, error) {
	if err := settings.Check(q.total, q.performance); err != nil {
		return ThreadInfo{}, err
	}
	if err := log.Check(); err != nil {
		return ThreadInfo{}, err
	}
	if auditConfig == "" {
		return ThreadInfo{}, errors.New("StartTest needs an explicit audit path: without one LoadGen opens audit.config in " +
			"the working folder")
	}
	if !started.CompareAndSwap(false, true) {
		return ThreadInfo{}, ErrSecondTest
	}
	clog := C.lg_log_settings{
		outdir: C.CString(log.OutDir), prefix: C.CString(log.Prefix), suffix: C.CString(log.Suffix),
		prefix_with_datetime: cbool(log.PrefixWithDatetime), copy_detail_to_stdout: cbool(log.CopyDetailToStdout),
		copy_summary_to_stdout: cbool(log.CopySummaryToStdout), enable_trace: cbool(log.EnableTrace),
	}
	caudit := C.CString(auditConfig)
	for _, p := range []*C.char{clog.outdir, clog.prefix, clog.suffix, caudit} {
		defer C.free(unsafe.Pointer(p))
	}
	cs := settings.c()
	var info C.lg_thread_info
	C.lg_start_test(s.c, q.c, &cs, &clog, caudit, &info)
	out := ThreadInfo{TimerSlackNS: int64(info.timer_slack_ns), Realtime: info.realtime != 0}
	return out, q.handle.Value().(*sampleLoader).err
}

// QuerySamplesComplete reports the answer to one sample: its token ids, which LoadGen copies as little-endian 32-bit
// words, and the number of tokens. LoadGen reads the clock on entry.
func QuerySamplesComplete(id ResponseID, tokens []int32, nTokens int) {
	C.lg_complete(C.uint64_t(id), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(tokens))), C.size_t(4*len(tokens)),
		C.int64_t(nTokens))
}

// QuerySamplesCompleteBytes is QuerySamplesComplete for answers that are not token ids, such as UTF-8 text.
func QuerySamplesCompleteBytes(id ResponseID, data []byte, nTokens int) {
	C.lg_complete(C.uint64_t(id), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(data))), C.size_t(len(data)),
		C.int64_t(nTokens))
}

// FirstTokenComplete reports a sample's first token. It must come from the OS thread that will complete the sample.
func FirstTokenComplete(id ResponseID, tokens []int32) {
	C.lg_first_token(C.uint64_t(id), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(tokens))), C.size_t(4*len(tokens)))
}

// Version returns the version of the linked LoadGen, such as 6.0.17.
func Version() string { return C.GoString(C.lg_version()) }

// Revision returns the first ten digits of the git revision of the linked LoadGen.
func Revision() string { return C.GoString(C.lg_revision()) }

// SHA1OfFiles maps LoadGen's source files to the SHA-1 that the linked library writes into every detail log.
func SHA1OfFiles() map[string]string {
	sums := map[string]string{}
	for _, line := range strings.Split(C.GoString(C.lg_sha1_of_files()), "\n") {
		if sum, name, ok := strings.Cut(line, " "); ok {
			sums[name] = sum
		}
	}
	return sums
}

// Built reports whether LoadGen is linked into this program.
const Built = true
