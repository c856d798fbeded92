package foreign

import (
	"bytes"
	"io"
	"math"
	"sync"
)

// longestHeld bounds what a LineWriter keeps of a line that does not end.
const longestHeld = 1 << 20

// LineWriter passes whole lines on as Lines shows them. Its methods may be called from any goroutine.
type LineWriter struct {
	mu   sync.Mutex
	to   io.Writer
	pass []func(string) string
	held []byte // of a line that has not ended
}

// Writer returns a writer that makes text safe to show and passes it on to to. Each function of pass sees a whole line
// first and may change it. Call Flush at the end.
func Writer(to io.Writer, pass ...func(string) string) *LineWriter {
	return &LineWriter{to: to, pass: pass}
}

// Write passes on the lines that p ends.
func (w *LineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, p...)
	end := bytes.LastIndexByte(w.held, '\n') + 1
	if end == 0 && len(w.held) > longestHeld {
		end = len(w.held)
	}
	if end == 0 {
		return len(p), nil
	}
	err := w.put(w.held[:end])
	w.held = append(w.held[:0], w.held[end:]...)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on the rest.
func (w *LineWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.held
	w.held = nil
	if len(rest) == 0 {
		return nil
	}
	return w.put(rest)
}

func (w *LineWriter) put(lines []byte) error {
	text := string(lines)
	for _, change := range w.pass {
		text = change(text)
	}
	_, err := io.WriteString(w.to, Lines(text, math.MaxInt))
	return err
}
