package profile

import "fmt"

// Divide returns an error if so many processes cannot send the profile together: one sends every N-th request, is
// every N-th user or has every N-th conversation, and learns nothing of the answers that the others get.
func (p *Profile) Divide(parts int) error {
	l := &p.Load
	if parts < 2 {
		return nil
	}
	if l.Sweep != nil {
		return fmt.Errorf("a sweep cannot be divided between shards: its rates follow from all answers")
	}
	if s := l.Saturation; s != nil && s.Scope == AllStages {
		return fmt.Errorf("load.over_saturation.scope all cannot be divided between shards: each of them judges its own " +
			"requests; use scope stage")
	}
	for i := range l.Stages {
		if n := p.Data.conversations(); n > 0 && n < parts && l.Stages[i].Arrival != Closed {
			return fmt.Errorf("stage %d: %d shards cannot divide %d conversations; use fewer shards", i, parts, n)
		}
		if at := l.atATime(&l.Stages[i]); at > 0 && at < parts {
			return fmt.Errorf("stage %d: %d shards cannot divide %d requests in flight; use fewer shards", i, parts, at)
		}
	}
	return nil
}

// conversations returns how many conversations a stage with a rate has; 0: its requests belong to none.
func (d *Data) conversations() int {
	switch {
	case d.Kind == Conversations && d.Turns != nil:
		return d.Turns.Conversations
	case d.Groups != nil && d.Groups.MultiTurn:
		return d.Groups.Count * d.Groups.Users
	}
	return 0
}

// atATime returns the maximum number of a stage's requests in flight; 0: the load does not limit them.
func (l *Load) atATime(s *Stage) int {
	if s.Concurrency > 0 && (l.InFlight == 0 || s.Concurrency < l.InFlight) {
		return s.Concurrency
	}
	return l.InFlight
}
