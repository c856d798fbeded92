package ledger

import (
	"sync"
	"sync/atomic"
)

// Code stands for a string in an Entry.
type Code uint8

// overflow is the last code; every name after it shares it, so that a server can not exhaust the table with odd
// statuses.
const (
	overflow     = Code(255)
	overflowName = "other"
)

// names gives strings small numbers. Looking one up takes no lock and allocates nothing; code 0 is the empty string.
type names struct {
	list atomic.Pointer[[]string]
	mu   sync.Mutex
}

func (t *names) code(name string) Code {
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
	if len(old) == int(overflow) {
		name = overflowName
	}
	grown := append(append(make([]string, 0, len(old)+1), old...), name)
	t.list.Store(&grown)
	return Code(len(old))
}

func (t *names) find(name string) (Code, bool) {
	list := t.all()
	for i, have := range list {
		if have == name {
			return Code(i), true
		}
	}
	return overflow, len(list) > int(overflow)
}

var noNames = []string{""}

// all gives every name by its code.
func (t *names) all() []string {
	if p := t.list.Load(); p != nil {
		return *p
	}
	return noNames
}
