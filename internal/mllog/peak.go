package mllog

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Peak contains the entries that LoadGen's FindPeakPerformance logs during its search
// (docs/reference/loadgen.md#find-peak).
type Peak struct {
	Tests []PeakTest
	Found float64 // rate that the search found, in queries per second; 0: the search did not finish
	Fails string  // LoadGen's message if the initial rate already misses a limit
}

// PeakTest is one series of queries of a search. LoadGen logs no latencies for it.
type PeakTest struct {
	Rate   float64 `json:"rate"`      // rate of the test in queries per second
	Met    *bool   `json:"met"`       // whether the test met every limit; nil: the test has not ended
	StartS float64 `json:"started_s"` // start of the test in seconds after the log was opened
}

// maxPeakTests is the maximum number of tests of a search that are read. LoadGen doubles and halves its interval, so a
// real one has about 60.
const maxPeakTests = 10000

var errPeakTests = fmt.Errorf("more than %d tests: not a search of LoadGen's", maxPeakTests)

// ReadPeak reads the tests and the result of a search from the detail log in a folder. The log may end anywhere.
func ReadPeak(folder string) (*Peak, error) {
	r := peakReader{peak: &Peak{}}
	if _, err := ReadDetailFile(filepath.Join(folder, DetailName), r.entry); err != nil {
		return nil, err
	}
	return r.peak, nil
}

// peakReader follows the messages of a search. Each message about an interval shows how the test before it ended,
// because the interval has the rate of that test as its lower end if it met the limits.
type peakReader struct {
	peak *Peak
	last string // rate of the last test, as LoadGen printed it
}

// peakMessages contains the beginnings of a search's messages, up to their numbers (loadgen/loadgen.cc, 6.0.17).
var peakMessages = []struct {
	key, text string
	read      func(r *peakReader, rest string, ms float64) error
}{
	{"generic_message", "FindPeakPerformance: Check validity of the base settings field: ", (*peakReader).base},
	{"generic_message", "FindBoundaries: Checking fields [", (*peakReader).widen},
	{"generic_message", "FindPeakPerformance: Found boundaries: [", (*peakReader).bounded},
	{"generic_message", "FindPeakPerformanceBinarySearch: Testing the mid value of bounds [", (*peakReader).middle},
	{"generic_message", "FindPeakPerformance: Found peak performance field: ", (*peakReader).found},
	{"error_runtime", "FindPeakPerformance: Initial lower bound does not satisfy performance constraints, msg: ",
		(*peakReader).fails},
}

func (r *peakReader) entry(e *Entry) error {
	for _, m := range peakMessages {
		if e.Key != m.key {
			continue
		}
		if rest, ok := strings.CutPrefix(e.Value.Text(), m.text); ok {
			return m.read(r, rest, e.TimeMS)
		}
	}
	return nil
}

func (r *peakReader) base(rest string, ms float64) error { return r.begin(rest, ms) }

func (r *peakReader) widen(rest string, ms float64) error {
	low, high, _ := interval(rest)
	r.ended(low)
	return r.begin(high, ms)
}

func (r *peakReader) bounded(rest string, _ float64) error {
	low, _, _ := interval(rest)
	r.ended(low)
	return nil
}

func (r *peakReader) middle(rest string, ms float64) error {
	low, _, rest := interval(rest)
	r.ended(low)
	return r.begin(strings.TrimPrefix(rest, ": "), ms)
}

func (r *peakReader) found(rest string, _ float64) (err error) {
	r.ended(rest)
	r.peak.Found, err = rate(rest)
	return err
}

func (r *peakReader) fails(rest string, _ float64) error {
	r.ended("")
	r.peak.Fails = rest
	return nil
}

// begin adds a test that starts now.
func (r *peakReader) begin(text string, ms float64) error {
	v, err := rate(text)
	if err != nil {
		return err
	}
	if len(r.peak.Tests) >= maxPeakTests {
		return errPeakTests
	}
	r.last = text
	r.peak.Tests = append(r.peak.Tests, PeakTest{Rate: v, StartS: ms / 1e3})
	return nil
}

// ended records the result of the last test: it met the limits if its rate is the new lower end of the interval.
func (r *peakReader) ended(low string) {
	n := len(r.peak.Tests)
	if n == 0 || r.peak.Tests[n-1].Met != nil {
		return
	}
	met := low == r.last
	r.peak.Tests[n-1].Met = &met
}

// interval splits "LOW, HIGH)REST".
func interval(text string) (low, high, rest string) {
	low, text, _ = strings.Cut(text, ", ")
	high, rest, _ = strings.Cut(text, ")")
	return low, high, rest
}

var errRate = errors.New("not a rate of LoadGen's")

func rate(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1e12) {
		return 0, fmt.Errorf("%w: %.40q", errRate, text)
	}
	return v, nil
}

// Range returns the highest rate that met the limits and the lowest that did not; 0 means no such rate yet.
func (p *Peak) Range() (low, high float64) {
	for _, t := range p.Tests {
		switch {
		case t.Met == nil:
		case *t.Met:
			low = max(low, t.Rate)
		case high == 0 || t.Rate < high:
			high = t.Rate
		}
	}
	return low, high
}
