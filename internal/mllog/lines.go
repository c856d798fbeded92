package mllog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ReadAccuracyLines reads an accuracy log that is not a complete array: one record per line, with or without a comma.
// It skips and counts malformed lines, as the reference for deepseek-r1 does
// (docs/reference/scoring-rules.md#reading-the-log).
func ReadAccuracyLines(path string, fn func(*AccuracyEntry) error) (a Accuracy, left int, err error) {
	f, err := openLog(path)
	if err != nil {
		return a, 0, fmt.Errorf("reading LoadGen's accuracy log %s: %w", path, err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, readBuffer)
	var d recordDecoder
	for {
		line, err := nextLine(r)
		if errors.Is(err, io.EOF) {
			return a, left, nil
		}
		if err != nil {
			return a, left, fmt.Errorf("reading LoadGen's accuracy log %s: %w", path, err)
		}
		line = bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(line), []byte(",")))
		if len(line) == 0 || string(line) == "[" || string(line) == "]" {
			continue
		}
		if line[0] != '{' || line[len(line)-1] != '}' || d.decode(line[1:len(line)-1]) != nil {
			left++
			continue
		}
		a.Records++
		d.entry.Record = a.Records
		if err := fn(&d.entry); err != nil {
			return a, left, fmt.Errorf("reading LoadGen's accuracy log %s: record %d: %w", path, a.Records, err)
		}
	}
}

// nextLine returns a line with its line feed; the last line may lack one.
func nextLine(r *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case len(long)+len(part) > MaxRecord:
			return nil, fmt.Errorf("a line is longer than %d MiB: not a LoadGen accuracy log", MaxRecord>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, part...)
			continue
		case errors.Is(err, io.EOF) && len(long)+len(part) > 0:
			err = nil
		}
		if long == nil {
			return part, err
		}
		return append(long, part...), err
	}
}
