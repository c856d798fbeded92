package record

import "time"

// QueryWindow is a part of a test's queries, in the order of their issue.
type QueryWindow struct {
	Start int `json:"start"` // number of the first query, starting at 0
	Count int `json:"count"`
}

// ProfiledWindow is how the profiling of a window of queries went (--profile-window).
type ProfiledWindow struct {
	QueryWindow
	How     string     `json:"how"`     // what controls the profiler
	Started *time.Time `json:"started"` // time of the start; null: not started
	Stopped *time.Time `json:"stopped"` // time of the stop; null: not stopped
	Queries int        `json:"queries"` // number of queries that ended between start and stop
	Error   string     `json:"error"`   // why the profile failed; empty: it succeeded
}
