package pickle

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"strconv"
)

const opStop = '.'

// opcodes maps each opcode of protocols 0 to 5 (Python's pickletools) to its function.
var opcodes [256]func(m *machine) error

func init() {
	for code, run := range map[byte]func(m *machine) error{
		// Constants.
		'N':  func(m *machine) error { return m.push(nil, 0) },
		0x88: func(m *machine) error { return m.push(true, 0) },
		0x89: func(m *machine) error { return m.push(false, 0) },
		'J':  func(m *machine) error { n, err := m.number(4); m.pushInt(int64(int32(n))); return err },
		'K':  func(m *machine) error { n, err := m.number(1); m.pushInt(int64(n)); return err },
		'M':  func(m *machine) error { n, err := m.number(2); m.pushInt(int64(n)); return err },
		'G':  floatBytes,
		0x8a: func(m *machine) error { return longBytes(m, 1) },
		0x8b: func(m *machine) error { return longBytes(m, 4) },
		'I':  intLine, 'L': longLine, 'F': floatLine,
		// Texts and bytes. Strings of Python 2 count as texts.
		'X':  func(m *machine) error { return text(m, 4) },
		0x8c: func(m *machine) error { return text(m, 1) },
		0x8d: func(m *machine) error { return text(m, 8) },
		'T':  func(m *machine) error { return text(m, 4) },
		'U':  func(m *machine) error { return text(m, 1) },
		'B':  func(m *machine) error { return raw(m, 4) },
		'C':  func(m *machine) error { return raw(m, 1) },
		0x8e: func(m *machine) error { return raw(m, 8) },
		0x96: func(m *machine) error { return raw(m, 8) },
		'V':  unicodeLine, 'S': stringLine,
		// Containers.
		'(':  func(m *machine) error { m.marks = append(m.marks, len(m.stack)); return nil },
		']':  func(m *machine) error { return m.push(&List{}, 64) },
		'}':  func(m *machine) error { return m.push(&Dict{}, 64) },
		')':  func(m *machine) error { return m.push(Tuple(nil), 0) },
		0x8f: func(m *machine) error { return m.push(&List{}, 64) }, // EMPTY_SET
		'l':  listOfMark, 'd': dictOfMark,
		't':  func(m *machine) error { v, err := m.popMark(); return tupleOf(m, v, err) },
		0x91: listOfMark, // FROZENSET
		0x85: func(m *machine) error { v, err := m.popN(1); return tupleOf(m, v, err) },
		0x86: func(m *machine) error { v, err := m.popN(2); return tupleOf(m, v, err) },
		0x87: func(m *machine) error { v, err := m.popN(3); return tupleOf(m, v, err) },
		'a':  func(m *machine) error { v, err := m.popN(1); return extend(m, v, err) },
		'e':  func(m *machine) error { v, err := m.popMark(); return extend(m, v, err) },
		0x90: func(m *machine) error { v, err := m.popMark(); return extend(m, v, err) }, // ADDITEMS
		's':  func(m *machine) error { v, err := m.popN(2); return setItems(m, v, err) },
		'u':  func(m *machine) error { v, err := m.popMark(); return setItems(m, v, err) },
		// The stack and the memo.
		'0':  pop,
		'1':  func(m *machine) error { _, err := m.popMark(); return err },
		'2':  func(m *machine) error { v, err := m.top(); m.stack = append(m.stack, v); return err },
		'q':  func(m *machine) error { return numbered(m, 1, m.put) },
		'r':  func(m *machine) error { return numbered(m, 4, m.put) },
		0x94: func(m *machine) error { return m.put(uint64(len(m.memo) + len(m.far))) },
		'h':  func(m *machine) error { return numbered(m, 1, m.get) },
		'j':  func(m *machine) error { return numbered(m, 4, m.get) },
		'p':  func(m *machine) error { return numberedLine(m, m.put) },
		'g':  func(m *machine) error { return numberedLine(m, m.get) },
		// Names of globals, and opcodes that in Python would call something.
		'c': globalLines, 0x93: globalOfStack, 'R': reduce, 0x81: reduce, 0x92: newWithKeywords, 'b': build,
		'P': outside, 'Q': outside, 0x82: outside, 0x83: outside, 0x84: outside, 0x97: outside, 0x98: outside,
		'i': oldInstance, 'o': oldInstance,
		// Frame and protocol.
		0x80: protocol,
		0x95: func(m *machine) error { _, err := m.take(8); return err },
	} {
		opcodes[code] = run
	}
}

func (m *machine) pushInt(n int64) { m.stack = append(m.stack, n) }

func protocol(m *machine) error {
	v, err := m.byte()
	if err == nil && v > 5 {
		return refused("protocol " + strconv.Itoa(int(v)))
	}
	return err
}

func floatBytes(m *machine) error {
	b, err := m.take(8)
	if err != nil {
		return err
	}
	return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)), 8)
}

// longBytes reads an integer of any size in two's complement.
func longBytes(m *machine, n int) error {
	b, err := m.counted(n)
	if err != nil {
		return err
	}
	if len(b) <= 8 {
		v := int64(0)
		for i := len(b) - 1; i >= 0; i-- {
			v = v<<8 | int64(b[i])
		}
		if n := len(b); n > 0 && n < 8 && b[n-1] >= 0x80 {
			v -= 1 << (8 * n)
		}
		return m.push(v, 0)
	}
	const most = 1 << 10
	if len(b) > most {
		return refused("an integer of " + strconv.Itoa(len(b)) + " bytes")
	}
	big := new(big.Int)
	slices.Reverse(b)
	big.SetBytes(b)
	if b[0] >= 0x80 {
		big.Sub(big, new(bigInt).Lsh(bigOne, uint(8*len(b))))
	}
	return m.push(big, 2*len(b))
}

var bigOne = big.NewInt(1)

func text(m *machine, n int) error {
	b, err := m.counted(n)
	if err != nil {
		return err
	}
	return m.push(string(b), 16+2*len(b))
}

func raw(m *machine, n int) error {
	b, err := m.counted(n)
	if err != nil {
		return err
	}
	return m.push(b, 24+len(b))
}

func pop(m *machine) error {
	// As in Python, POP also removes a mark.
	if n := len(m.marks); n > 0 && m.marks[n-1] == len(m.stack) {
		m.marks = m.marks[:n-1]
		return nil
	}
	_, err := m.pop()
	return err
}

func numbered(m *machine, n int, use func(uint64) error) error {
	i, err := m.number(n)
	if err != nil {
		return err
	}
	return use(i)
}
