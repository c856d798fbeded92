package bench_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// TestLoopsDoNotChangeTheLoad sends profiles with one and with three event loops: the server gets the same requests,
// which are due at the same times. Another seed changes both.
func TestLoopsDoNotChangeTheLoad(t *testing.T) {
	for name, data := range map[string]profile.Data{
		"random": {Kind: profile.Random, Input: &profile.Distribution{Kind: "uniform", Min: 5, Max: 40},
			Output: &profile.Distribution{Kind: "uniform", Min: 1, Max: 9}},
		"prefixes": {Kind: profile.SharedPrefix, Output: profile.FixedAt(3), Groups: &profile.Groups{Count: 3, Users: 4,
			System: profile.FixedAt(20), Question: profile.FixedAt(8)}},
	} {
		t.Run(name, func(t *testing.T) {
			p := profile.Defaults()
			p.Name, p.Seed, p.Data = name, 7, data
			p.Load.Stages = []profile.Stage{{Arrival: profile.Poisson, Rate: 400, Requests: 80},
				{Arrival: profile.Gamma, Burstiness: 0.5, Rate: 400, Requests: 40}}
			due, bodies := loadOf(t, p, 1)
			require.Len(t, due, 120)
			again, same := loadOf(t, p, 3)
			require.Equal(t, due, again)
			require.Equal(t, bodies, same)
			p.Seed = 8
			again, same = loadOf(t, p, 1)
			require.NotEqual(t, due, again)
			require.NotEqual(t, bodies, same)
		})
	}
}

// loadOf runs a profile with a number of event loops. It returns what it sent: the stage of each request with its due
// time after the stage's start, and the sorted bodies.
func loadOf(t *testing.T, p *profile.Profile, loops int) (due, bodies []string) {
	t.Helper()
	var mu sync.Mutex
	forward := simtest.Forward(t, simulate(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is cut is another body
		if r.Method == http.MethodPost {
			mu.Lock()
			bodies = append(bodies, string(body))
			mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	defer server.Close()
	folder := t.TempDir()
	r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{server.URL}, Folder: folder,
		Shards: loops})
	require.NoError(t, err)
	require.Zero(t, r.Measured.Total.Requests.Failed)
	_, err = eventlog.Read(filepath.Join(folder, eventlog.FileName), func(_ *eventlog.Header, e *eventlog.Request) error {
		due = append(due, fmt.Sprintf("%d: %d in stage %d", e.Seq, e.DueNS-r.Stages[e.Stage].StartNS, e.Stage))
		return nil
	})
	require.NoError(t, err)
	slices.Sort(due)
	slices.Sort(bodies)
	return due, bodies
}
