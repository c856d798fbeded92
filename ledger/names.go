package ledger

import (
	"sync"
	"sync/atomic"
)

// Code is the index of a Reason or a TokenSource in Names, because an Entry has no room for the string.
type Code uint8

// overflow is the last code. All further names share it, so that a server that sends many different statuses cannot
// exhaust the table.
const (
	overflow     = Code(255)
	overflowName = "other"
)

// names numbers strings. Looking one up takes no lock and allocates nothing; code 0 is the empty string.
type names[T ~string] struct {
	most Code // code shared by all names that no longer fit; 0: overflow
	list atomic.Pointer[[]T]
	mu   sync.Mutex
}

// Servers choose the finish reasons, so their number and length are limited.
const (
	maxFinishes    = 15
	maxFinishBytes = 40
)

// finishes returns an empty table of finish reasons.
func finishes() *names[string] { return &names[string]{most: maxFinishes} }

// last returns the code shared by all names that no longer fit into the table.
func (t *names[T]) last() Code {
	if t.most > 0 {
		return t.most
	}
	return overflow
}

func (t *names[T]) code(name T) Code {
	if name == "" {
		return 0
	}
	if c, ok := t.find(name); ok {
		return c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.find(name); ok {
		return c
	}
	old := t.all()
	if len(old) == int(t.last()) {
		name = overflowName
	}
	grown := append(append(make([]T, 0, len(old)+1), old...), name)
	t.list.Store(&grown)
	return Code(len(old))
}

func (t *names[T]) find(name T) (Code, bool) {
	list := t.all()
	for i, have := range list {
		if have == name {
			return Code(i), true
		}
	}
	return t.last(), len(list) > int(t.last())
}

// all returns the names; the index of each is its code.
func (t *names[T]) all() []T {
	if p := t.list.Load(); p != nil {
		return *p
	}
	return []T{""}
}
