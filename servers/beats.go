package servers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

const (
	largestBeats = 64 << 20 // bytes that are read of one replica's heartbeats: the last ones, two months with one in 5 s
	longestBeat  = 4 << 10  // bytes of one line
	longestWhy   = 512      // bytes of an error, which may be six times as many in JSON
)

// Beats are the heartbeats of one server during a test.
type Beats struct {
	Sent        int64   `json:"sent"`
	Failed      int64   `json:"failed"`        // of them: without an answer in time, or with another than that it is well
	LongestGapS float64 `json:"longest_gap_s"` // the longest time of the test without an answer
}

// beat is one heartbeat as it ended, a line of the replica's file.
type beat struct {
	At     time.Time     `json:"at"`
	TookNS time.Duration `json:"took_ns"`
	Error  string        `json:"error,omitempty"`
}

func beatsPath(dir string, replica int) string {
	return filepath.Join(dir, fmt.Sprintf("heartbeat-%d.jsonl", replica))
}

// beatsFile is where a supervisor notes the heartbeats of one replica, each as it ends: a test that is over reads those
// of its own time.
type beatsFile struct{ file *os.File }

func createBeats(access atomicfile.Access, dir string, replica int) (*beatsFile, error) {
	f, err := access.Create(beatsPath(dir, replica))
	if err != nil {
		return nil, fmt.Errorf("noting the heartbeats of replica %d: %w", replica, err)
	}
	return &beatsFile{f}, nil
}

// note writes one heartbeat; after a failure it does nothing.
func (b *beatsFile) note(began, ended time.Time, failed error) error {
	if b == nil || b.file == nil {
		return nil
	}
	line := beat{At: ended, TookNS: ended.Sub(began)}
	if failed != nil {
		line.Error = foreign.Line(failed.Error(), longestWhy)
	}
	text, err := json.Marshal(line)
	if err == nil {
		_, err = b.file.Write(append(text, '\n'))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("noting a heartbeat: %w", err), b.close())
	}
	return nil
}

func (b *beatsFile) close() error {
	if b == nil || b.file == nil {
		return nil
	}
	f := b.file
	b.file = nil
	return f.Close()
}

// ReadBeats counts the heartbeats of a replica that ended between two moments. A line at the end of the file that is
// not whole yet does not count.
func ReadBeats(dir string, replica int, from, to time.Time) (*Beats, error) {
	path := beatsPath(dir, replica)
	b, err := readBeats(path, largestBeats, from, to)
	if err != nil {
		return nil, fmt.Errorf("heartbeats of replica %d, %s: %w", replica, path, err)
	}
	return b, nil
}

// readBeats reads the last bytes of a file, at most so many.
func readBeats(path string, most int64, from, to time.Time) (*Beats, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(io.LimitReader(f, most), longestBeat)
	if skip := info.Size() - most; skip > 0 {
		if _, err := f.Seek(skip, io.SeekStart); err != nil {
			return nil, err
		}
		if _, err := r.ReadSlice('\n'); err != nil { // the rest of a line
			return nil, err
		}
	}
	return countBeats(r, from, to)
}

// countBeats reads lines in the order in which the heartbeats ended.
func countBeats(r *bufio.Reader, from, to time.Time) (*Beats, error) {
	b, answered := &Beats{}, from
	gap := func(until time.Time) { b.LongestGapS = max(b.LongestGapS, until.Sub(answered).Seconds()) }
	for number := 1; ; number++ {
		text, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			gap(to)
			return b, nil
		}
		var line beat
		if err == nil {
			err = json.Unmarshal(text, &line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d is no heartbeat: %w", number, err)
		}
		if line.At.Before(from) || line.At.After(to) {
			continue
		}
		b.Sent++
		if line.Error != "" {
			b.Failed++
			continue
		}
		gap(line.At)
		answered = line.At
	}
}
