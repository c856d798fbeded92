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
	largestBeats = 64 << 20 // bytes read from the end of a replica's file: two months at one heartbeat in 5 s
	longestBeat  = 4 << 10  // bytes of one line
	longestError = 512      // bytes of an error; JSON may need six times as many
)

// Beats summarizes the heartbeats of one server during a test.
type Beats struct {
	Sent        int64   `json:"sent"`
	Failed      int64   `json:"failed"`        // answered late, not at all, or with an error
	LongestGapS float64 `json:"longest_gap_s"` // longest time without a good answer, in seconds
}

// beat is one completed heartbeat, a line of the replica's file.
type beat struct {
	At     time.Time     `json:"at"`
	TookNS time.Duration `json:"took_ns"`
	Error  string        `json:"error,omitempty"`
}

func beatsPath(dir string, replica int) string {
	return filepath.Join(dir, fmt.Sprintf("heartbeat-%d.jsonl", replica))
}

// beatsFile records the heartbeats of one replica, so that a test can later read those of its own time.
type beatsFile struct{ file *os.File }

func createBeats(access atomicfile.Access, dir string, replica int) (*beatsFile, error) {
	f, err := access.Create(beatsPath(dir, replica))
	if err != nil {
		return nil, fmt.Errorf("record the heartbeats of replica %d: %w", replica, err)
	}
	return &beatsFile{f}, nil
}

// note writes one heartbeat. After a failed write it does nothing.
func (b *beatsFile) note(began, ended time.Time, failed error) error {
	if b == nil || b.file == nil {
		return nil
	}
	line := beat{At: ended, TookNS: ended.Sub(began)}
	if failed != nil {
		line.Error = foreign.Line(failed.Error(), longestError)
	}
	text, err := json.Marshal(line)
	if err == nil {
		_, err = b.file.Write(append(text, '\n'))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("record a heartbeat: %w", err), b.close())
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

// ReadBeats counts the heartbeats of a replica that ended between two times. It ignores an incomplete last line.
func ReadBeats(dir string, replica int, from, to time.Time) (*Beats, error) {
	path := beatsPath(dir, replica)
	b, err := readBeats(path, largestBeats, from, to)
	if err != nil {
		return nil, fmt.Errorf("heartbeats of replica %d, %s: %w", replica, path, err)
	}
	return b, nil
}

// readBeats reads at most the last most bytes of a file.
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

// countBeats requires lines in the order in which the heartbeats ended.
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
			return nil, fmt.Errorf("line %d is not a heartbeat: %w", number, err)
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
