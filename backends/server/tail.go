package server

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
)

const (
	tailLines = 50
	tailBytes = 64 << 10
	lineBytes = 500
)

// tail gives the last lines that were written to a log since a position: what a server said before it ended.
func tail(path string, since int64) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the server's log: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("reading the server's log %s: %w", path, err)
	}
	from := max(since, size-tailBytes)
	b, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return nil, fmt.Errorf("reading the server's log %s: %w", path, err)
	}
	text := strings.TrimRight(strings.ToValidUTF8(string(b), "?"), "\n")
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, l := range lines {
		lines[i] = harmless(l)
	}
	return lines, nil
}

// harmless keeps a server's log from steering the terminal; of a progress bar, the last state is kept.
func harmless(line string) string {
	line = strings.TrimRight(line, "\r")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	if len(line) > lineBytes {
		line = strings.ToValidUTF8(line[:lineBytes], "") + " ..."
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return '?'
		}
		return r
	}, line)
}
