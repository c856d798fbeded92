package ledger

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// replayStartNS is the time of the first issue of a test read from a file, which contains only relative times. It is
// one day, so that no time becomes 0, which would mean that the event did not happen.
const replayStartNS = 24 * 3600 * 1e9

// requestLine is a line of the requests file.
type requestLine struct {
	Seq          *int32      `json:"seq"`
	Index        int32       `json:"index"`
	Scheduled    *int64      `json:"scheduled"`
	Issued       *int64      `json:"issued"`
	Dequeued     *int64      `json:"dequeued"`
	Sent         *int64      `json:"sent"`
	FirstByte    *int64      `json:"first_byte"`
	FirstToken   *int64      `json:"first_token"`
	LastToken    *int64      `json:"last_token"`
	Readable     *int64      `json:"readable"`
	Done         *int64      `json:"done"`
	InputTokens  int32       `json:"input_tokens"`
	OutputTokens int32       `json:"output_tokens"`
	Events       int32       `json:"events"`
	Merged       int32       `json:"merged"`
	Endpoint     int16       `json:"endpoint"`
	Retries      uint16      `json:"retries"`
	Source       TokenSource `json:"source"`
	Reason       Reason      `json:"reason"`
	Finish       string      `json:"finish"`
}

// Answer is what a line of the requests file reports about one sample's answer.
type Answer struct {
	InputTokens, OutputTokens int
	Finish                    string // finish reason as the server sent it; empty: none
	Reason                    Reason // failure reason; empty: success
	Ended                     bool   // whether the sample was completed
}

// EachAnswer calls take with the answer on every line of a requests file. It keeps no answers.
func EachAnswer(path string, take func(Answer)) error {
	return openLines(path, func(r io.Reader) error { return eachAnswer(r, take) })
}

func eachAnswer(r io.Reader, take func(Answer)) error {
	return eachLine(r, func(line *requestLine) error {
		if line.InputTokens < 0 || line.OutputTokens < 0 {
			return errors.New("a number of tokens is negative")
		}
		take(Answer{int(line.InputTokens), int(line.OutputTokens), line.Finish, line.Reason, line.Done != nil})
		return nil
	})
}

// ReadRequests reads a requests file back, so that its figures can be computed again. The file has no absolute times,
// so the first issue gets an arbitrary time. Schedule contains every sample's scheduled time, whatever the origin was.
// With the error of a damaged file it returns the requests before the damage, which may be none.
func ReadRequests(path string) (*Test, error) {
	var t *Test
	err := openLines(path, func(r io.Reader) (err error) {
		t, err = readRequests(r)
		return err
	})
	return t, err
}

func readRequests(r io.Reader) (*Test, error) {
	t := &Test{T0NS: replayStartNS, Origin: FromSchedule}
	n := tables{ends: finishes()}
	err := eachLine(r, func(line *requestLine) error { return t.add(line, &n) })
	t.Names = Names{n.reasons.all(), n.sources.all(), n.ends.all()}
	return t, err
}

// openLines opens a requests file, calls read, and adds the file's name to the error.
func openLines(path string, read func(io.Reader) error) error {
	r, err := atomicfile.OpenLines(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := read(r); err != nil {
		return fmt.Errorf("reading the requests file %s, %w", path, err)
	}
	return nil
}

// tables assigns codes to the names in a file.
type tables struct {
	reasons names[Reason]
	sources names[TokenSource]
	ends    *names[string]
}

// eachLine calls take with every line of a requests file, of at most 64 KiB each, bufio's own bound. Lines of this
// program have fewer than 400 bytes.
func eachLine(r io.Reader, take func(*requestLine) error) error {
	in := bufio.NewScanner(r)
	number := 0
	for in.Scan() {
		number++
		var line requestLine
		err := json.Unmarshal(in.Bytes(), &line)
		if err == nil {
			err = take(&line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("after line %d: %w", number, err)
	}
	return nil
}

// maxRelativeNS bounds a time of the file: a year.
const maxRelativeNS = 366 * 24 * 3600 * 1e9

var errTimes = errors.New("seq, scheduled and issued are needed, and no time may be below minus a day or above a year")

func (t *Test) add(line *requestLine, r *tables) error {
	if line.Seq == nil || line.Scheduled == nil || line.Issued == nil {
		return errTimes
	}
	e := Entry{
		Seq: *line.Seq, Index: line.Index, Endpoint: line.Endpoint, Retries: line.Retries,
		Reason: r.reasons.code(line.Reason), Source: r.sources.code(line.Source),
		Finish:      r.ends.code(line.Finish[:min(len(line.Finish), maxFinishBytes)]),
		InputTokens: line.InputTokens, OutputTokens: line.OutputTokens, Events: line.Events, Merged: line.Merged,
	}
	times := []*int64{line.Issued, line.Dequeued, line.Sent, line.FirstByte, line.FirstToken, line.LastToken,
		line.Readable, line.Done}
	for i, at := range append(times, line.Scheduled) {
		switch {
		case at == nil:
		case *at <= -replayStartNS || *at > maxRelativeNS:
			return errTimes
		case i < len(requestTimes):
			*requestTimes[i].of(&e) = replayStartNS + *at
		}
	}
	// Lines are in the order of issue.
	if int(e.Seq) < len(t.Schedule) || int(e.Seq) > len(t.Schedule)+maxSeqGap {
		return errors.New("seq does not follow the line before")
	}
	for len(t.Schedule) < int(e.Seq) {
		t.Schedule = append(t.Schedule, 0) // due time of a missing sample, which is never read
	}
	t.Schedule = append(t.Schedule, *line.Scheduled)
	t.Entries = append(t.Entries, e)
	return nil
}

// maxSeqGap bounds the samples that may be missing between two lines.
const maxSeqGap = 1 << 20
