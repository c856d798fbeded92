package ledger

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// maxRequestLine bounds a line of the requests file. Lines of this program have fewer than 400 bytes.
const maxRequestLine = 64 << 10

// replayStartNS is the time of the first issue of a test read from a file, which contains only relative times. It is a
// day, so that no time becomes 0, which means that it did not happen.
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
}

// ReadRequests reads a requests file back, so that its figures can be computed again. Absolute times are lost: the
// first issue gets an arbitrary time. Schedule contains every sample's scheduled time, whatever the origin was.
func ReadRequests(path string) (*Test, error) {
	r, err := atomicfile.OpenLines(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := readRequests(r)
	if err != nil {
		return nil, fmt.Errorf("reading the requests file %s, %w", path, err)
	}
	return t, nil
}

func readRequests(r io.Reader) (*Test, error) {
	t := &Test{T0NS: replayStartNS, Origin: FromSchedule}
	var reasons names[Reason]
	var sources names[TokenSource]
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxRequestLine)
	for number := 1; in.Scan(); number++ {
		var line requestLine
		err := json.Unmarshal(in.Bytes(), &line)
		if err == nil {
			err = t.add(&line, &reasons, &sources)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("after line %d: %w", len(t.Entries), err)
	}
	t.Names = Names{Reasons: reasons.all(), Sources: sources.all()}
	return t, nil
}

// maxRelativeNS bounds a time of the file: a year.
const maxRelativeNS = 366 * 24 * 3600 * 1e9

var errTimes = errors.New("seq, scheduled and issued are needed, and no time may be below minus a day or above a year")

func (t *Test) add(line *requestLine, reasons *names[Reason], sources *names[TokenSource]) error {
	if line.Seq == nil || line.Scheduled == nil || line.Issued == nil {
		return errTimes
	}
	e := Entry{
		Seq: *line.Seq, Index: line.Index, Endpoint: line.Endpoint, Retries: line.Retries,
		Reason: reasons.code(line.Reason), Source: sources.code(line.Source),
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
		t.Schedule = append(t.Schedule, 0) // of a missing sample: never read
	}
	t.Schedule = append(t.Schedule, *line.Scheduled)
	t.Entries = append(t.Entries, e)
	return nil
}

// maxSeqGap bounds the samples that may be missing between two lines.
const maxSeqGap = 1 << 20
