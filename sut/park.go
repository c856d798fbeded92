// HOT PATH: Park and Unpark run each time a client's loop goes to sleep. No lock, no allocation.

package sut

// parker is a source of queries that can wake a sleeping event loop, such as loadgen.Shard.
type parker interface {
	Park() bool
	Unpark()
	FD() int
}

// Park announces that the consumer is about to sleep on FD. It returns false if the consumer must not sleep.
func (s *source) Park() bool {
	s.idle()
	return s.ring.(parker).Park()
}

// Unpark cancels the announcement.
func (s *source) Unpark() { s.ring.(parker).Unpark() }

// FD returns a descriptor that becomes readable when a parked consumer is woken, or -1 if the ring has none.
func (s *source) FD() int {
	if p, ok := s.ring.(parker); ok {
		return p.FD()
	}
	return -1
}
