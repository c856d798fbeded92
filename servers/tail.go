package servers

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

const (
	tailLines = 50
	tailBytes = 64 << 10
	lineBytes = 500
)

// tail returns the last lines of a log after a position, passed through redact.
func tail(path string, since int64, redact func(string) string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the server's log: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("read the server's log %s: %w", path, err)
	}
	from := max(since, size-tailBytes)
	b, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return nil, fmt.Errorf("read the server's log %s: %w", path, err)
	}
	text := colour.ReplaceAllString(string(b), "")
	if from > since { // drop the first line: it may be incomplete and begin within a secret
		_, text, _ = strings.Cut(text, "\n")
	}
	text = strings.TrimRight(redact(text), "\n")
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, l := range lines {
		lines[i] = lastState(l)
	}
	return lines, nil
}

// colour matches the escape sequences of coloured logs.
var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// lastState returns a line of a log, or the last state of a progress bar.
func lastState(line string) string {
	line = strings.TrimRight(line, "\r")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	return foreign.Line(strings.ReplaceAll(line, "\t", " "), lineBytes)
}
