package profile

import "fmt"

// Divide returns an error if so many processes cannot send the profile together: one sends every N-th request or is
// every N-th user, and learns nothing of the answers that the others get.
func (p *Profile) Divide(parts int) error {
	d, l := &p.Data, &p.Load
	if parts < 2 {
		return nil
	}
	if l.Sweep != nil {
		return fmt.Errorf("a sweep cannot be divided between shards: its rates follow from all answers")
	}
	if d.Kind == Conversations || d.Kind == Recorded || d.Groups != nil && d.Groups.MultiTurn {
		return fmt.Errorf("conversations and sessions cannot be divided between shards: their calls wait for each " +
			"other's answers")
	}
	for i := range l.Stages {
		if at := l.atATime(&l.Stages[i]); at > 0 && at < parts {
			return fmt.Errorf("stage %d: %d shards cannot divide %d requests in flight; use fewer shards", i, parts, at)
		}
	}
	return nil
}

// atATime returns how many requests of a stage are in flight at most; 0: the load does not limit them.
func (l *Load) atATime(s *Stage) int {
	if s.Concurrency > 0 && (l.InFlight == 0 || s.Concurrency < l.InFlight) {
		return s.Concurrency
	}
	return l.InFlight
}
