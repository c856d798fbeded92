package profile

import (
	"fmt"
	"math"
)

// CheckSessions returns an error if a stage is to start the sessions that earlier stages left, and they leave none of
// so many recorded ones: it would send nothing.
func (l *Load) CheckSessions(recorded int) error {
	used := 0
	for i := range l.Stages {
		switch s := &l.Stages[i]; {
		case s.Arrival != Sessions:
		case s.Requests > 0:
			used += s.Requests
		case s.Duration > 0: // it repeats them until its end
			used = math.MaxInt32
		case used >= recorded:
			return fmt.Errorf("load.stages[%d]: the stages before it start all %d sessions, so that it would send nothing; "+
				"give it requests or a duration", i, recorded)
		default:
			used = recorded
		}
	}
	return nil
}
