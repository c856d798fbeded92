package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// drawing is a terminal with some lines below all other output, which each draw replaces. It may be used concurrently.
// No library draws them: mpb, which did, left lines behind where a display has several below its bar, or wraps.
type drawing struct {
	to io.Writer

	mu    sync.Mutex
	lines int // number of drawn lines
}

// Write erases the drawn lines, which the next draw shows again, and writes.
func (d *drawing) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.replace(nil); err != nil {
		return 0, err
	}
	return d.to.Write(b)
}

// draw replaces the drawn lines, none of which may be wider than the terminal. Without lines it erases them.
func (d *drawing) draw(lines ...string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.replace(lines)
}

func (d *drawing) replace(lines []string) error {
	var b strings.Builder
	if d.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", d.lines)
	}
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	d.lines = len(lines)
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(d.to, b.String())
	return err
}

// cut shortens a line to a number of columns.
func cut(line string, columns int) string {
	if r := []rune(line); len(r) > columns {
		return string(r[:max(columns-1, 0)]) + "…"
	}
	return line
}

// bar draws a share, from 0 to 1, in a number of columns. Too few columns have no bar.
func bar(share float64, columns int) string {
	room := columns - len("[]")
	if room < 8 {
		return ""
	}
	full := min(max(int(share*float64(room)), 0), room)
	head := ""
	if full < room {
		head = ">"
	}
	return "[" + strings.Repeat("=", full) + head + strings.Repeat("-", room-full-len(head)) + "]"
}
