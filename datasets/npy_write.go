package datasets

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// npyWriter writes the ids of all prompts as one flat array of 32-bit integers. Their lengths go to another file.
type npyWriter struct {
	w *bufio.Writer
	n int
}

func newNPYWriter(w io.Writer, lengths []int64) (*npyWriter, error) {
	total := int64(0)
	for _, n := range lengths {
		total += n
	}
	out := bufio.NewWriterSize(w, 1<<20)
	_, err := out.WriteString(npyHeaderText("<i4", total))
	return &npyWriter{w: out}, err
}

// npyHeaderText returns the header of a one-dimensional array in version 1, padded so that the numbers begin at a
// multiple of 64 bytes (NEP 1).
func npyHeaderText(kind string, n int64) string {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", kind, n)
	const before = 10
	text += strings.Repeat(" ", 63-(before+len(text))%64) + "\n"
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(text)))) + text
}

func (n *npyWriter) write(_ []byte, s *Sample) error {
	n.n++
	if len(s.InputIDs) == 0 {
		return &Error{Record: n.n, Found: "no token ids", Expected: "ids, because a .npy file contains nothing else",
			Try: "convert to another format"}
	}
	for _, id := range s.InputIDs {
		if _, err := n.w.Write(binary.LittleEndian.AppendUint32(n.w.AvailableBuffer(), uint32(id))); err != nil {
			return err
		}
	}
	return nil
}

func (n *npyWriter) close() error { return n.w.Flush() }

// WriteLengths writes the prompt lengths of a conversion to FormatNPY as a .npy file. The array of ids cannot be read
// without them.
func (c *Conversion) WriteLengths(w io.Writer) error {
	if c.lengths == nil {
		return errors.New("only a conversion to .npy has lengths")
	}
	out := bufio.NewWriter(w)
	out.WriteString(npyHeaderText("<i8", int64(len(c.lengths))))
	for _, n := range c.lengths {
		out.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	return out.Flush()
}
