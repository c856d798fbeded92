package foreign

import (
	"bytes"
	"io"
	"math"
	"strings"
	"sync"
)

// longestHeld is the maximum number of bytes that a LineWriter keeps of a line that does not end.
const longestHeld = 1 << 20

// LineWriter passes whole lines on as Lines shows them. Its methods may be called from any goroutine.
type LineWriter struct {
	mu   sync.Mutex
	to   io.Writer
	pass []func(string) string
	held []byte // bytes of a line that has not ended
	ink  []ink  // control sequences within held, in the order of the text
}

// ink is a sequence that controls the terminal. It precedes the byte with index at of the held text.
type ink struct {
	at       int
	sequence string
}

// Writer returns a writer that makes text safe to show and writes it to the given writer. Each function of pass first
// receives the whole line and may change it. Call Flush at the end.
func Writer(to io.Writer, pass ...func(string) string) *LineWriter {
	return &LineWriter{to: to, pass: pass}
}

// Write adds p to the held text and writes the lines that are now complete.
func (w *LineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(p)
}

// Paint writes text between two sequences that control the terminal, such as a colour and its end. The text is made
// safe to show like any other. before and after are written unchanged, so they must be constants of the program.
func (w *LineWriter) Paint(before, text, after string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ink = append(w.ink, ink{len(w.held), before}, ink{len(w.held) + len(text), after})
	_, err := w.write([]byte(text))
	return err
}

func (w *LineWriter) write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	end := bytes.LastIndexByte(w.held, '\n') + 1
	if end == 0 && len(w.held) > longestHeld {
		end = len(w.held)
	}
	if end == 0 {
		return len(p), nil
	}
	err := w.put(end)
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the held text.
func (w *LineWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) == 0 && len(w.ink) == 0 {
		return nil
	}
	return w.put(len(w.held))
}

// put writes the first bytes of the held text, with the ink within and directly after them.
func (w *LineWriter) put(end int) error {
	var b strings.Builder
	from := 0
	show := func(to int) {
		text := string(w.held[from:to])
		for _, change := range w.pass {
			text = change(text)
		}
		b.WriteString(Lines(text, math.MaxInt))
		from = to
	}
	for len(w.ink) > 0 && w.ink[0].at <= end {
		show(w.ink[0].at)
		b.WriteString(w.ink[0].sequence)
		w.ink = w.ink[1:]
	}
	show(end)
	w.held = append(w.held[:0], w.held[end:]...)
	for i := range w.ink {
		w.ink[i].at -= end
	}
	_, err := io.WriteString(w.to, b.String())
	return err
}
