package datasets

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// Limits for one page. Writers make pages of about 1 MiB, but pyarrow checks a page's size only after every 1024
// values, so that a page of images contains all images of a row group.
const (
	maxPage       = 512 << 20
	maxPageWindow = 128 << 20 // maximum window of zstd in bytes
	maxPageValues = 8 << 20
	maxPageHeader = 16 << 20 // large, since some writers store the smallest and largest value of the page there
)

// Page types and encodings (parquet.thrift).
const (
	pageData, pageDictionary, pageDataV2              = 0, 2, 3
	encPlain, encDictionaryOld, encRLE, encDictionary = 0, 2, 3, 8
)

// pqValues are the decoded values of a leaf: numbers as their bits, or byte strings.
type pqValues struct {
	numbers []uint64
	strings [][]byte
}

func (v *pqValues) len() int { return max(len(v.numbers), len(v.strings)) }

// buffers hold a column's pages; the column of the next row group reuses them.
type buffers struct {
	packed, body []byte
	words        []byte // byte strings of the dictionary
}

// pqColumn walks the values of one leaf in one row group, a page at a time.
type pqColumn struct {
	node     *pqNode
	file     io.ReaderAt
	codec    int64
	pos, end int64  // file offsets of the unread bytes of the chunk
	window   []byte // bytes of the file from pos on: a page header and what follows
	buffers
	zstd       *zstd.Decoder
	grown      *growth
	dictionary pqValues
	values     pqValues
	indices    []uint32 // indices into the dictionary, if the page uses them
	coded      bool
	reps, defs []uint32
	n, at      int // number of entries in the page, and number of consumed entries
	valueAt    int
}

// peek returns the levels of the next entry, It loads the next page if needed; more is false at the end of the chunk.
func (c *pqColumn) peek() (rep, def int, more bool, f *fault) {
	for c.at == c.n {
		if c.pos >= c.end {
			return 0, 0, false, nil
		}
		if f := c.page(); f != nil {
			f.field = c.node.name
			return 0, 0, false, f
		}
	}
	def = c.node.def
	if c.node.def > 0 {
		def = int(c.defs[c.at])
	}
	if c.node.rep > 0 {
		rep = int(c.reps[c.at])
	}
	return rep, def, true, nil
}

// pass consumes an entry; present reports whether it had a value.
func (c *pqColumn) pass(present bool) {
	c.at++
	if present {
		c.valueAt++
	}
}

// number returns the current value of a numeric column.
func (c *pqColumn) number() uint64 {
	if c.coded {
		return c.dictionary.numbers[c.indices[c.valueAt]]
	}
	return c.values.numbers[c.valueAt]
}

// text returns the current value of a column of byte strings.
func (c *pqColumn) text() []byte {
	if c.coded {
		return c.dictionary.strings[c.indices[c.valueAt]]
	}
	return c.values.strings[c.valueAt]
}

// page reads the next page.
func (c *pqColumn) page() *fault {
	head, f := c.header()
	if f != nil {
		return f
	}
	unpacked, packed := head.get(2).whole, head.get(3).whole
	if packed < 0 || packed > c.end-c.pos || unpacked < 0 || unpacked > math.MaxInt32 {
		return pqDamaged(fmt.Sprintf("a page of %d bytes, %d when unpacked, in a column with %d bytes left", packed, unpacked,
			c.end-c.pos))
	}
	if max(packed, unpacked) > maxPage {
		return &fault{found: fmt.Sprintf("a page of %d bytes, %d when unpacked", packed, unpacked),
			expected: fmt.Sprintf("pages of at most %d MiB", maxPage>>20),
			try:      "write the file again with smaller row groups, such as 100 rows"}
	}
	if int64(cap(c.packed)) < packed {
		c.packed = make([]byte, packed, packed+packed/4) // later pages have about the same size
	}
	c.packed = c.packed[:packed]
	if _, err := c.file.ReadAt(c.packed, c.pos); err != nil {
		return pqDamaged(fmt.Sprintf("an unreadable page (%v)", err))
	}
	c.pos += packed
	switch head.get(1).whole {
	case pageDictionary:
		return c.readDictionary(head.get(7), int(unpacked))
	case pageData:
		return c.readData(head.get(5), int(unpacked))
	case pageDataV2:
		return c.readDataV2(head.get(8), int(unpacked))
	}
	return nil // index pages and future types contain no values
}

// header reads the header at the current position, growing the window until it is complete.
func (c *pqColumn) header() (*thriftNode, *fault) {
	for size := int64(512); ; size *= 8 {
		c.window = slices.Grow(c.window[:0], int(min(size, c.end-c.pos)))[:min(size, c.end-c.pos)]
		if _, err := c.file.ReadAt(c.window, c.pos); err != nil {
			return nil, pqDamaged(fmt.Sprintf("an unreadable page header (%v)", err))
		}
		head, n, err := readThrift(c.window)
		if err == nil {
			c.pos += int64(n)
			return &head, nil
		}
		if err != errThriftCut || int64(len(c.window)) == c.end-c.pos || size >= maxPageHeader {
			return nil, pqDamaged("an invalid page header")
		}
	}
}

func pqCount(n int64) (int, *fault) {
	if n < 0 || n > maxPageValues {
		return 0, pqDamaged(fmt.Sprintf("a page header with %d values", n))
	}
	return int(n), nil
}

func (c *pqColumn) readDictionary(head *thriftNode, size int) *fault {
	n, f := pqCount(head.get(1).whole)
	if f != nil {
		return f
	}
	if c.words, f = c.unpack(c.words, c.packed, size); f != nil {
		return f
	}
	return c.plain(&c.dictionary, c.words, n)
}

func (c *pqColumn) readData(head *thriftNode, size int) *fault {
	n, f := pqCount(head.get(1).whole)
	if f != nil {
		return f
	}
	if c.body, f = c.unpack(c.body, c.packed, size); f != nil {
		return f
	}
	body := c.body
	for _, l := range []struct {
		most  int
		field int16
		dst   *[]uint32
	}{{c.node.rep, 4, &c.reps}, {c.node.def, 3, &c.defs}} {
		if l.most == 0 {
			continue
		}
		if head.get(l.field).whole != encRLE {
			return pqRefused("levels in an obsolete encoding")
		}
		if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
			return pqDamaged("truncated levels")
		}
		end := 4 + int(binary.LittleEndian.Uint32(body))
		if *l.dst, f = pqLevels((*l.dst)[:0], body[4:end], n, l.most); f != nil {
			return f
		}
		body = body[end:]
	}
	return c.data(body, head.get(2).whole, n)
}

func (c *pqColumn) readDataV2(head *thriftNode, size int) *fault {
	n, f := pqCount(head.get(1).whole)
	if f != nil {
		return f
	}
	defs, reps := head.get(5).whole, head.get(6).whole
	if defs < 0 || reps < 0 || reps > int64(len(c.packed)) || defs > int64(len(c.packed))-reps || int64(size) < defs+reps {
		return pqDamaged("levels longer than their page")
	}
	if c.reps, f = pqLevels(c.reps[:0], c.packed[:reps], n, c.node.rep); f != nil {
		return f
	}
	if c.defs, f = pqLevels(c.defs[:0], c.packed[reps:reps+defs], n, c.node.def); f != nil {
		return f
	}
	body := c.packed[reps+defs:]
	if packed := head.find(7); packed == nil || packed.whole == 1 {
		if c.body, f = c.unpack(c.body, body, size-int(defs+reps)); f != nil {
			return f
		}
		body = c.body
	}
	return c.data(body, head.get(4).whole, n)
}

// data decodes the values of a page with n entries.
func (c *pqColumn) data(body []byte, encoding int64, n int) *fault {
	values := n
	if c.node.def > 0 {
		values = 0
		for _, d := range c.defs {
			if int(d) == c.node.def {
				values++
			}
		}
	}
	c.n, c.at, c.valueAt, c.coded = n, 0, 0, false
	switch {
	case encoding == encPlain:
		return c.plain(&c.values, body, values)
	case encoding == encDictionary || encoding == encDictionaryOld:
		return c.codes(body, values)
	case encoding == encRLE && c.node.physical == pqBoolean && len(body) >= 4:
		bits, f := hybrid(c.indices[:0], body[4:], values, 1)
		c.indices = bits
		c.values.numbers = c.values.numbers[:0]
		for _, b := range bits {
			c.values.numbers = append(c.values.numbers, uint64(b))
		}
		return f
	}
	return pqRefused(fmt.Sprintf("values in encoding %d", encoding))
}

func pqRefused(found string) *fault {
	return &fault{found: found, expected: "plain or dictionary encoding, uncompressed or with snappy, gzip or zstd",
		try: "write the file again with the usual settings of pandas or pyarrow"}
}

// codes decodes indices into the dictionary.
func (c *pqColumn) codes(body []byte, n int) *fault {
	c.coded = true
	if n == 0 {
		c.indices = c.indices[:0]
		return nil
	}
	if len(body) == 0 || body[0] > 32 {
		return pqDamaged("invalid dictionary indices")
	}
	var f *fault
	if c.indices, f = hybrid(c.indices[:0], body[1:], n, int(body[0])); f != nil {
		return f
	}
	for _, i := range c.indices {
		if int(i) >= c.dictionary.len() {
			return pqDamaged(fmt.Sprintf("index %d in a dictionary of %d values", i, c.dictionary.len()))
		}
	}
	return nil
}

// plain decodes n values in the plain encoding. Byte strings alias body.
func (c *pqColumn) plain(v *pqValues, body []byte, n int) *fault {
	v.numbers, v.strings = v.numbers[:0], v.strings[:0]
	width := map[int64]int{pqInt32: 4, pqFloat: 4, pqInt64: 8, pqDouble: 8, pqFixed: c.node.width}[c.node.physical]
	if width*n > len(body) || (c.node.physical == pqBoolean && (n+7)/8 > len(body)) {
		return pqDamaged(fmt.Sprintf("a page of %d bytes for %d values", len(body), n))
	}
	switch c.node.physical {
	case pqBoolean:
		for i := range n {
			v.numbers = append(v.numbers, uint64(body[i/8]>>(i%8)&1))
		}
	case pqInt32, pqFloat:
		for i := range n {
			v.numbers = append(v.numbers, uint64(binary.LittleEndian.Uint32(body[4*i:])))
		}
	case pqInt64, pqDouble:
		for i := range n {
			v.numbers = append(v.numbers, binary.LittleEndian.Uint64(body[8*i:]))
		}
	case pqFixed:
		for i := range n {
			v.strings = append(v.strings, body[i*width:(i+1)*width])
		}
	case pqBytes:
		for range n {
			if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
				return pqDamaged("a byte string longer than its page")
			}
			end := 4 + int(binary.LittleEndian.Uint32(body))
			v.strings = append(v.strings, body[4:end])
			body = body[end:]
		}
	default:
		return pqRefused("96-bit integers")
	}
	return nil
}

func (c *pqColumn) close() {
	if c.zstd != nil {
		c.zstd.Close()
	}
}
