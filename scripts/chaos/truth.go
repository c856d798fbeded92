package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// entry is one request and what the server did with it.
type entry struct {
	N       int    // in the order of arrival
	Server  int    `json:",omitempty"`
	Conn    int    // number of its connection
	Rows    []int  // whose prompts it has
	Armed   bool   // it came in the timed phase
	Attempt int    // requests for its first row so far
	Fault   string `json:",omitempty"`
	Model   string `json:",omitempty"` // model that answered, if it is the wrong one
	ID      bool   // it carried an id
	Whole   bool   // every byte of the answer was written
	Broken  bool   `json:",omitempty"` // the connection ended first, but the relevant part of the answer may have arrived
	Done    bool
}

// truth records what the servers of a test did.
type truth struct {
	mu       sync.Mutex
	entries  []*entry
	armed    int
	attempts map[int]int
	errors   []string        // errors of the client: requests that it must not send
	events   map[string]bool // disturbances of the whole test
	action   func()          // nil: none, or done
	actionAt int             // number of the request in the timed phase at which it comes
}

func (t *truth) begin(c *call) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &entry{N: len(t.entries), Conn: c.number, Rows: c.q.rows, Armed: c.armed, Attempt: t.attempts[c.q.rows[0]]}
	e.ID = c.q.header != "" || len(c.q.rids) > 0
	if c.armed {
		t.armed++
		t.attempts[c.q.rows[0]]++
	}
	if c.model != servedModel {
		e.Model = c.model
	}
	t.entries = append(t.entries, e)
	return e
}

func (t *truth) end(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.e.Done = true
}

// act runs the scenario's action if it is due, before the request is answered.
func (t *truth) act() {
	t.mu.Lock()
	if t.action == nil || t.armed < t.actionAt {
		t.mu.Unlock()
		return
	}
	act := t.action
	t.action = nil
	t.mu.Unlock()
	act()
}

// wrong records a request that no client may send.
func (t *truth) wrong(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}

// disturb records an event that may fail any sample.
func (t *truth) disturb(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events[what] = true
}

// write stores the truth beside a failed test.
func (t *truth) write(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	for _, e := range t.entries {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	return f.Close()
}
