// HOT PATH: Park and Unpark run once for each time that a client's loop goes to sleep. No lock, no allocation.

package sut

// parker is a source that an event loop can sleep on, as loadgen.Shard is.
type parker interface {
	Park() bool
	Unpark()
	FD() int
}

// Park announces that the consumer is about to sleep on FD; false: it must not.
func (s *source) Park() bool { return s.ring.(parker).Park() }

// Unpark takes the announcement back.
func (s *source) Unpark() { s.ring.(parker).Unpark() }

// FD becomes readable when a parked consumer is woken; -1: the ring has none.
func (s *source) FD() int {
	if p, ok := s.ring.(parker); ok {
		return p.FD()
	}
	return -1
}
