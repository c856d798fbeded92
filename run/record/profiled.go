package record

import "time"

// QueryWindow is a part of a test's queries, in the order of their issue.
type QueryWindow struct {
	Start int `json:"start"` // number of the first query, from 0 on
	Count int `json:"count"`
}

// ProfiledWindow is how the profiling of a window of queries went (--profile-window).
type ProfiledWindow struct {
	QueryWindow
	How     string     `json:"how"`     // what controls the profiler
	Started *time.Time `json:"started"` // null: it was not started
	Stopped *time.Time `json:"stopped"` // null: it was not stopped
	Queries int        `json:"queries"` // that ended between both
	Error   string     `json:"error"`   // empty: the window was profiled
}
