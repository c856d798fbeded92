package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeries(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		attempts int
		stop     bool
		results  []int // exit codes of the calls of Make; -1: an error; -2: 0, and the context ends
		folders  []string
		end      SeriesEnd
		err      error
	}{
		"all valid": {1, true, []int{0, 0, 0}, []string{"r0", "r1", "r2"}, SeriesEnd{Finished: 2, Folder: "r2"}, nil},
		"worst code of all": {1, false, []int{3, 1, 0}, []string{"r0", "r1", "r2"},
			SeriesEnd{Status: 3, Finished: 2, Folder: "r2"}, nil},
		"stopped by the first failure": {1, true, []int{0, 1}, []string{"r0", "r1"},
			SeriesEnd{Status: 1, Finished: 1, Folder: "r1"}, nil},
		"valid at the third attempt": {3, true, []int{1, -1, 0, 0, 0},
			[]string{"r0", "r0-attempt-2", "r0-attempt-3", "r1", "r2"}, SeriesEnd{Finished: 2, Folder: "r2"}, nil},
		"no further attempt": {2, true, []int{1, 1}, []string{"r0", "r0-attempt-2"},
			SeriesEnd{Status: 1, Folder: "r0"}, nil},
		"an error ends it": {2, false, []int{0, -1, -1}, []string{"r0", "r1", "r1-attempt-2"},
			SeriesEnd{Finished: 1, Folder: "r1"}, broken},
		"interrupted": {2, false, []int{0, 1, -2}, []string{"r0", "r1", "r1-attempt-2"},
			SeriesEnd{Interrupted: true, Finished: 1, Folder: "r1"}, nil},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var folders []string
		s := Series{Runs: 3, Attempts: c.attempts, StopOnError: c.stop,
			Options: func(i int) (*Options, error) { return &Options{Folder: []string{"r0", "r1", "r2"}[i]}, nil },
			Make: func(o *Options) (int, error) {
				result := c.results[len(folders)]
				folders = append(folders, o.Folder)
				switch result {
				case -1:
					return 0, broken
				case -2:
					cancel()
					return 0, nil
				}
				return result, nil
			}}
		end, err := s.Run(ctx)
		cancel()
		require.Equal(t, c.err, err, name)
		require.Equal(t, c.end, end, name)
		require.Equal(t, c.folders, folders, name)
	}
	s := Series{Runs: 1, Attempts: 1, Options: func(int) (*Options, error) { return nil, broken }}
	_, err := s.Run(t.Context())
	require.Equal(t, broken, err, "without a run")
}
