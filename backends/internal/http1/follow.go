package http1

// Follower finds the ends of answers on a connection whose answers another client reads.
type Follower struct{ parser parser }

// Begin prepares for the next answer.
func (f *Follower) Begin() { f.parser.reset() }

// Next reads bytes of an answer and returns how many belong to it, and whether it has ended. ok is false if they are
// not HTTP/1.1.
func (f *Follower) Next(b []byte) (n int, ended, ok bool) {
	rest := b
	for {
		var event event
		switch event, _, rest = f.parser.next(rest); event {
		case evMore:
			return len(b), false, true
		case evEnd:
			return len(b) - len(rest), true, true
		case evBad:
			return len(b), false, false
		}
	}
}
