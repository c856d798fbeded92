package bench

import (
	"context"
	"fmt"
)

// Series is a number of runs that are made in sequence, such as the treatments of an experiment.
type Series struct {
	Runs        int
	Attempts    int  // how often a run is made until it is VALID; at least 1
	StopOnError bool // the first run that stays without a VALID result ends the series

	// Options returns those of run i, just before its first attempt.
	Options func(i int) (*Options, error)
	// Make makes a run and returns its exit code; 0: it is VALID. Later attempts have a folder of their own.
	Make func(o *Options) (status int, err error)
}

// SeriesEnd is how a series ended.
type SeriesEnd struct {
	Status int // highest exit code of a run's last attempt
	// Interrupted is set if the context ended during a run: Folder is that of its first attempt, and Finished is the
	// number of runs before it.
	Interrupted bool
	Finished    int
	Folder      string
}

// Run makes the runs. An error of a run's last attempt ends the series.
func (s *Series) Run(ctx context.Context) (end SeriesEnd, err error) {
	for i := range s.Runs {
		o, err := s.Options(i)
		if err != nil {
			return end, err
		}
		end.Finished, end.Folder = i, o.Folder
		status, err := s.attempts(ctx, o)
		if err != nil {
			return end, err
		}
		end.Status = max(end.Status, status)
		if end.Interrupted = ctx.Err() != nil; end.Interrupted || end.Status > 0 && s.StopOnError {
			break
		}
	}
	return end, nil
}

// attempts makes a run until it is VALID, and returns the exit code of the last attempt.
func (s *Series) attempts(ctx context.Context, o *Options) (status int, err error) {
	folder := o.Folder
	for try := 1; ; try++ {
		status, err = s.Make(o)
		if err == nil && status == 0 || try >= s.Attempts || ctx.Err() != nil {
			return status, err
		}
		o.Folder = fmt.Sprintf("%s-attempt-%d", folder, try+1)
	}
}
