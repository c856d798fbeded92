// Package schedule computes when the requests of a stage are due.
//
//	due, err := schedule.Due(&stage, schedule.Seed{Profile: 7, Stage: 0}, nil)
//
// The times depend only on the stage and the seed, not on the machine, on answers, or on the number of goroutines.
// Stages that wait for answers (closed, sessions) have no such times; Starts returns when their users begin.
//
// Definitions: docs/reference/profiles.md. The package prints nothing and imports workload/profile only.
package schedule
