package datasets

import (
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// Sides of the padding in a .npy table, for Padding.Side.
const (
	PadRight = "right"
	PadLeft  = "left"
)

// Padding describes how a .npy file, which has no column names and only rows of equal length, contains prompts of
// different lengths.
type Padding struct {
	Lengths string // .npy file with the number of ids of each prompt; required, so that padding is never sent
	Side    string // side of the prompt on which a table has padding: PadRight (default) or PadLeft
	ID      *int32 // the padding id; nil: the first one found
}

// maxNPYHeader is the maximum size of the header in bytes. numpy accepts up to 10,000 bytes.
const maxNPYHeader = 64 << 10

// npyHeader is the content of a .npy file's header.
type npyHeader struct {
	word  int   // size of one number in bytes: 4 or 8
	begin int64 // offset of the numbers in the file
	shape []int64
}

// The header is a Python dict with three entries in any order (NEP 1).
var (
	npyDescr   = regexp.MustCompile(`^\{.*'descr': *'([^']*)'`)
	npyFortran = regexp.MustCompile(`'fortran_order': *(True|False)`)
	npyShape   = regexp.MustCompile(`'shape': *\(([0-9, ]*)\)`)
)

// readNPYHeader reads a header of version 1, 2 or 3.
func readNPYHeader(r io.Reader) (*npyHeader, *fault) {
	var b [12]byte
	size := 10
	if _, err := io.ReadFull(r, b[:size]); err != nil {
		return nil, npyFault("the end of the file inside its header")
	}
	if string(b[:6]) != "\x93NUMPY" || b[6] < 1 || b[6] > 3 {
		return nil, npyFault(fmt.Sprintf("%s, version %d", shown(b[:6]), b[6]))
	}
	length := int64(binary.LittleEndian.Uint16(b[8:]))
	if b[6] > 1 {
		if _, err := io.ReadFull(r, b[size:]); err != nil {
			return nil, npyFault("the end of the file inside its header")
		}
		size = len(b)
		length = int64(binary.LittleEndian.Uint32(b[8:]))
	}
	if length > maxNPYHeader {
		return nil, npyFault(fmt.Sprintf("a header of %d bytes", length))
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, npyFault("the end of the file inside its header")
	}
	h, f := parseNPYHeader(string(text))
	if f != nil {
		return nil, f
	}
	h.begin = int64(size) + length
	return h, nil
}

func parseNPYHeader(text string) (*npyHeader, *fault) {
	descr, fortran, shape := npyDescr.FindStringSubmatch(text), npyFortran.FindStringSubmatch(text),
		npyShape.FindStringSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return nil, npyFault("the header " + shown([]byte(text)))
	}
	h := &npyHeader{word: map[string]int{"<i4": 4, "<i8": 8}[descr[1]]}
	switch {
	case h.word == 0:
		return nil, &fault{found: "numbers of type " + shown([]byte(descr[1])),
			expected: "<i4 or <i8 (int32 or int64, little-endian)", try: "save array.astype('<i4')"}
	case fortran[1] == "True":
		return nil, &fault{found: "an array in Fortran order", expected: "C order",
			try: "save numpy.ascontiguousarray(array)"}
	}
	for part := range strings.SplitSeq(shape[1], ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || len(h.shape) == 2 {
			return nil, &fault{found: "the shape " + shown([]byte(shape[1])),
				expected: "one dimension (prompts one after the other) or two (one row per prompt)", try: "reshape the array"}
		}
		h.shape = append(h.shape, n)
	}
	if len(h.shape) == 0 {
		return nil, npyFault("a single number")
	}
	return h, nil
}

func npyFault(found string) *fault {
	return &fault{found: found, expected: "a complete .npy file of version 1, 2 or 3",
		try: "save the array again with numpy.save"}
}

// npyNumber reads one number.
func npyNumber(b []byte, word int) int64 {
	if word == 4 {
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// npyRecords reads token ids from a .npy file, one prompt at a time.
type npyRecords struct {
	content npyContent
	h       *npyHeader
	name    string // column name for the ids
	lengths []int64
	left    bool
	pad     *int32
	row     []byte // bytes of the current prompt with its padding
	out     []byte
	n       int
}

// newNPY reads the header from r. It reads the numbers from whole, which maps the file, or from r if whole is nil.
func newNPY(r io.Reader, whole []byte, name string, p Padding) (records, error) {
	if p.Side != "" && p.Side != PadLeft && p.Side != PadRight {
		return nil, fmt.Errorf("%w: unknown padding side %q; use left or right", ErrOption, p.Side)
	}
	h, f := readNPYHeader(r)
	if f != nil {
		return nil, &fileError{fault: f}
	}
	n := &npyRecords{content: &npyStream{r: r}, h: h, name: name, left: p.Side == PadLeft, pad: p.ID}
	if p.Lengths == "" {
		return nil, &fileError{fault: &fault{found: "an array of ids without the lengths of its prompts",
			expected: "both, because padding must not be sent",
			try:      "name the .npy file of the lengths (--lengths), or convert the data to JSON Lines"}}
	}
	var err error
	if n.lengths, err = readLengths(p.Lengths); err != nil {
		return nil, err
	}
	if f := n.checkLengths(p.Lengths); f != nil {
		return nil, &fileError{fault: f}
	}
	if whole != nil {
		if f := h.checkSize(int64(len(whole))); f != nil {
			return nil, &fileError{fault: f}
		}
		n.content = &npyMap{b: whole, at: int(h.begin)}
	}
	return n, nil
}

// checkSize checks the size of a whole file in bytes against its shape, whose numbers checkLengths has limited.
func (h *npyHeader) checkSize(size int64) *fault {
	want := int64(h.word)
	for _, n := range h.shape {
		want *= n
	}
	if got := max(size-h.begin, 0); got != want {
		return npyFault(fmt.Sprintf("%d bytes of numbers instead of the %d of its shape", got, want))
	}
	return nil
}

// readLengths reads the file of the prompt lengths.
func readLengths(path string) ([]int64, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	lengths, f, err := lengthsOf(src.content)
	if f != nil {
		return nil, &Error{Path: path, Field: f.field, Found: f.found, Expected: f.expected, Try: f.try, Err: err}
	}
	return lengths, nil
}

// lengthsOf reads the content of a file of prompt lengths. Memory grows with the bytes read, not with the count in the
// header.
func lengthsOf(r io.Reader) ([]int64, *fault, error) {
	h, f := readNPYHeader(r)
	if f == nil && (len(h.shape) != 1 || h.shape[0] > maxSamples) {
		f = &fault{found: fmt.Sprintf("lengths of shape %v", h.shape),
			expected: fmt.Sprintf("one length per prompt, at most %d", maxSamples),
			try:      "save the lengths as a one-dimensional array"}
	}
	if f != nil {
		return nil, f, nil
	}
	b, err := (&npyStream{r: r}).take(int(h.shape[0]) * h.word)
	if err != nil {
		return nil, &fault{found: "the end of the file", expected: fmt.Sprintf("%d lengths", h.shape[0]),
			try: "get or save the file again"}, err
	}
	lengths := make([]int64, h.shape[0])
	for i := range lengths {
		lengths[i] = npyNumber(b[i*h.word:], h.word)
	}
	return lengths, nil, nil
}

// checkLengths checks the lengths against the shape of the array.
func (n *npyRecords) checkLengths(path string) *fault {
	most, sum := int64(maxRecord/n.h.word), int64(0)
	if len(n.h.shape) == 2 {
		if n.h.shape[1] > most {
			return &fault{found: fmt.Sprintf("rows of %d ids", n.h.shape[1]), expected: fmt.Sprintf("at most %d", most),
				try: "check the shape"}
		}
		most = n.h.shape[1]
	}
	for i, l := range n.lengths {
		if l < 1 || l > most {
			return &fault{found: fmt.Sprintf("the length %d of prompt %d in %s", l, i+1, path),
				expected: fmt.Sprintf("1 to %d", most), try: "check that the file of lengths belongs to the array"}
		}
		sum += l
	}
	if len(n.h.shape) == 2 && int64(len(n.lengths)) != n.h.shape[0] {
		return &fault{found: fmt.Sprintf("%d lengths in %s", len(n.lengths), path),
			expected: fmt.Sprintf("%d, one per row", n.h.shape[0]), try: "check that the file of lengths belongs to the array"}
	}
	if len(n.h.shape) == 1 && sum != n.h.shape[0] {
		return &fault{found: fmt.Sprintf("lengths in %s that add up to %d", path, sum),
			expected: fmt.Sprintf("%d like the array", n.h.shape[0]),
			try:      "check that the file of lengths belongs to the array"}
	}
	return nil
}

func (n *npyRecords) passed() int   { return n.n }
func (n *npyRecords) shape() string { return "NumPy array" }

func (n *npyRecords) next() (record []byte, line int, err error) {
	defer recoverCutMap(&err)()
	if n.n == len(n.lengths) {
		return nil, 0, n.atEnd()
	}
	length := int(n.lengths[n.n])
	n.n++
	width := length
	if len(n.h.shape) == 2 {
		width = int(n.h.shape[1])
	}
	if n.row, err = n.content.take(width * n.h.word); err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, 0, &fileError{fault: npyFault("the end of the file inside this prompt"), err: err}
	} else if err != nil {
		return nil, 0, err
	}
	from := 0
	if n.left {
		from = width - length
	}
	if f := n.checkPadding(0, from); f != nil {
		return nil, 0, &recordError{f}
	}
	if f := n.checkPadding(from+length, width); f != nil {
		return nil, 0, &recordError{f}
	}
	n.out = append(jsontext.AppendKey(append(n.out[:0], '{'), n.name), '[')
	for i := from; i < from+length; i++ {
		if i > from {
			n.out = append(n.out, ',')
		}
		n.out = strconv.AppendInt(n.out, npyNumber(n.row[i*n.h.word:], n.h.word), 10)
	}
	n.out = append(n.out, ']', '}')
	return n.out, 0, nil
}

// atEnd returns an error if bytes follow the last prompt.
func (n *npyRecords) atEnd() error {
	more, err := n.content.take(1)
	if len(more) > 0 {
		return &fileError{fault: npyFault("more bytes than its shape")}
	}
	return err
}

// checkPadding requires the ids outside of the prompt to be padding. Any other id means a wrong length or the wrong
// side.
func (n *npyRecords) checkPadding(from, to int) *fault {
	for i := from; i < to; i++ {
		id := npyNumber(n.row[i*n.h.word:], n.h.word)
		if n.pad == nil && id == int64(int32(id)) {
			pad := int32(id)
			n.pad = &pad
		}
		if n.pad == nil || id != int64(*n.pad) {
			expected := "one padding id throughout"
			if n.pad != nil {
				expected = fmt.Sprintf("the padding id %d", *n.pad)
			}
			return &fault{field: n.name, found: fmt.Sprintf("the id %d at position %d, outside of the prompt's %d ids", id, i,
				n.lengths[n.n-1]), expected: expected,
				try: "check the lengths, the padding id, and on which side the padding is (--pad-side)"}
		}
	}
	return nil
}
