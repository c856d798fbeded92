package profile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCheckSessions(t *testing.T) {
	count := func(n int) Stage { return Stage{Arrival: Sessions, Requests: n} }
	rest, timed := Stage{Arrival: Sessions}, Stage{Arrival: Sessions, Duration: time.Second}
	for name, c := range map[string]struct {
		stages []Stage
		wrong  string // the stage that has no session left
	}{
		"all":                         {[]Stage{rest}, ""},
		"some, the others":            {[]Stage{count(1), count(1), rest}, ""},
		"counts alone":                {[]Stage{count(7), count(7)}, ""},
		"all, then a count":           {[]Stage{rest, count(1), timed}, ""},
		"other arrivals":              {[]Stage{{Arrival: Closed, Requests: 9}, rest}, ""},
		"all, all again":              {[]Stage{rest, rest}, "load.stages[1]"},
		"as many as there are":        {[]Stage{count(2), count(1), rest}, "load.stages[2]"},
		"more than there are":         {[]Stage{count(7), timed, rest}, "load.stages[2]"},
		"a duration, then the others": {[]Stage{timed, rest}, "load.stages[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&Load{Stages: c.stages}).CheckSessions(3)
			if c.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.wrong+": the stages before it start all 3 sessions")
		})
	}
}
