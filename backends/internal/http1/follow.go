package http1

// Follower finds where the answers on a connection end. It is for other clients, which read the answers themselves.
type Follower struct{ parser parser }

// Begin waits for the next answer.
func (f *Follower) Begin() { f.parser.reset() }

// Next reads bytes of an answer. n of them belong to it: fewer than all where it ended. ok is false where they are no
// HTTP/1.1.
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
