package pickle

import (
	"errors"
	"fmt"
	"io"
)

// Limits for the values of a pickle. Writers empty the stack every 1000 elements, and tables have few levels of
// nesting.
const (
	maxStack = 1 << 20
	maxMarks = 1 << 10
	// Limit for the estimated memory of the values: freeHeld plus heldPerByte per byte read. The estimate is
	// conservative.
	freeHeld    = 64 << 20
	heldPerByte = 24
)

// machine runs the opcodes of one pickle. It looks names up and never calls them.
type machine struct {
	input
	stack []any
	marks []int // lengths of the stack at each open mark
	memo  []any
	far   map[uint64]any // memo entries whose index is not the next one
	held  int64
}

// read runs a stream until STOP and returns the value on the stack.
func read(r io.Reader) (any, error) {
	m := &machine{input: input{r: r}}
	for {
		code, err := m.byte()
		if err == nil {
			if code == opStop {
				break
			}
			if run := opcodes[code]; run != nil {
				err = run(m)
			} else {
				err = damaged(fmt.Sprintf("the byte 0x%02x, which is not an opcode of protocols 0 to 5", code))
			}
		}
		if err == nil {
			err = m.check()
		}
		if err != nil {
			var e *Error
			if errors.As(err, &e) && e.At < 0 {
				e.At = m.passed
			}
			return nil, err
		}
	}
	if len(m.stack) != 1 || len(m.marks) > 0 {
		return nil, damaged(fmt.Sprintf("%d values left at the end", len(m.stack)))
	}
	return m.stack[0], nil
}

func (m *machine) check() error {
	switch {
	case len(m.stack) > maxStack || len(m.marks) > maxMarks:
		return damaged("a stack deeper than a table needs")
	case m.held > freeHeld+heldPerByte*m.passed:
		return damaged(fmt.Sprintf("values of %d MiB in %d MiB of pickle", m.held>>20, m.passed>>20))
	}
	return nil
}

// push pushes a value; size is the memory in bytes that the value needs besides its place in the stack.
func (m *machine) push(v any, size int) error {
	m.stack = append(m.stack, v)
	m.held += int64(size)
	return nil
}

// base returns the lowest index that belongs to the innermost mark.
func (m *machine) base() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

// pop removes and returns the top value.
func (m *machine) pop() (any, error) {
	if len(m.stack) <= m.base() {
		return nil, damaged("an opcode that pops from an empty stack")
	}
	v := m.stack[len(m.stack)-1]
	m.stack[len(m.stack)-1] = nil
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

// top returns the top value.
func (m *machine) top() (any, error) {
	if len(m.stack) <= m.base() {
		return nil, damaged("an opcode that reads an empty stack")
	}
	return m.stack[len(m.stack)-1], nil
}

// popMark removes and returns the values above the last mark. They are valid until the next push.
func (m *machine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, damaged("an opcode that needs a mark on a stack without marks")
	}
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	values := m.stack[at:]
	m.stack = m.stack[:at]
	return values, nil
}

// popN removes and returns n values. They are valid until the next push.
func (m *machine) popN(n int) ([]any, error) {
	at := len(m.stack) - n
	if at < m.base() {
		return nil, damaged("an opcode that pops from an empty stack")
	}
	values := m.stack[at:]
	m.stack = m.stack[:at]
	return values, nil
}

// put stores the top value in the memo.
func (m *machine) put(i uint64) error {
	v, err := m.top()
	switch n := uint64(len(m.memo)); {
	case err != nil:
		return err
	case i < n:
		m.memo[i] = v
		return nil
	case i == n && m.far == nil:
		m.memo = append(m.memo, v)
	default:
		if m.far == nil {
			m.far = map[uint64]any{}
		}
		m.far[i] = v
		m.held += 184
	}
	m.held += 16
	return nil
}

func (m *machine) get(i uint64) error {
	if i < uint64(len(m.memo)) {
		return m.push(m.memo[i], 0)
	}
	v, ok := m.far[i]
	if !ok {
		return damaged(fmt.Sprintf("a reference to value %d, which was not stored", i))
	}
	return m.push(v, 0)
}

// make records the call of a class or function.
func (m *machine) make(callee any, args Tuple) error {
	g, ok := callee.(*Global)
	if !ok {
		return damaged("a call of " + kindOf(callee))
	}
	if g.class == classCopied && len(args) > 0 {
		if of, ok := args[0].(*Global); ok {
			g, args = of, nil
		}
	}
	return m.push(&Object{Class: g, Args: args}, 96)
}
