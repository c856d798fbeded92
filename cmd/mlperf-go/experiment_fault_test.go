package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/experiment"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// An experiment that is interrupted or killed during a trial continues with the same trial, and its experiment.json is
// complete at any time. A replica that dies spoils only the current trial, which is repeated once the replica answers
// again.
func TestAnExperimentSurvives(t *testing.T) {
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	dir := t.TempDir()
	set, folder := synthetic(t, "generic", 61), filepath.Join(dir, "out")
	sim := []string{"--benchmark", "generic", "--dataset", set, "--model", "m", "--max-num-seqs", "4", "--tpot", "4ms"}
	first, _ := startSim(deferring{t}, filepath.Join(dir, "ready"), sim...)
	second, replica := startSim(deferring{t}, filepath.Join(dir, "ready2"), sim...)
	args := []string{"--json", "--no-progress", "experiment", "partition", "--model", "generic", "--endpoint", first,
		"--endpoint", second, "--served-model", "m", "--dataset", set, "--max-tokens", "30", "--window", "4", "--repeats",
		"2", "--output-dir", folder, "--resume"}
	trials := func() int {
		s, err := experiment.ReadState(folder)
		require.True(t, err == nil || os.IsNotExist(err) || s == nil, "%v", err)
		if s == nil {
			return 0
		}
		return len(s.Trials)
	}
	for _, end := range []struct {
		signal   syscall.Signal
		measured int
		code     int
	}{{syscall.SIGINT, 1, 130}, {syscall.SIGKILL, 2, -1}} {
		p := start(t, folder, args...)
		p.until("a trial", patience, func() bool { return trials() == end.measured })
		require.NoError(t, p.cmd.Process.Signal(end.signal))
		require.Equal(t, end.code, p.end(endWithin), p.stderr.String())
	}
	before, err := experiment.ReadState(folder)
	require.NoError(t, err)

	p := start(t, folder, args...)
	p.until("another trial", patience, func() bool { return trials() == 3 })
	time.Sleep(100 * time.Millisecond) // during the next trial
	require.NoError(t, replica.Process.Kill())
	time.Sleep(time.Second)
	require.NoError(t, os.Remove(filepath.Join(dir, "ready2")))
	again, _ := startSim(deferring{t}, filepath.Join(dir, "ready2"),
		append(sim, "--listen", strings.TrimPrefix(second, "http://"))...)
	require.Equal(t, second, again)
	require.Equal(t, 0, p.end(patience), p.stderr.String())
	require.Contains(t, p.stderr.String(), "does not count, and is repeated")
	var after experiment.State
	require.NoError(t, json.NewDecoder(bytes.NewReader(p.stdout.Bytes())).Decode(&after))
	require.Len(t, after.Trials, 8)
	for i, trial := range after.Trials {
		require.Empty(t, trial.Spoiled)
		require.Equal(t, 61, trial.Replicas[0].Samples+trial.Replicas[1].Samples)
		if i < len(before.Trials) {
			require.Equal(t, before.Trials[i].Started.UnixNano(), trial.Started.UnixNano(), "it was measured again")
		}
	}
	requirePlaces(t, folder, &after)
}

// requirePlaces checks that each trial sent each sample once, and that the seed determines its replica in every pass,
// except with work stealing. Each arrangement
// divides the samples in another way.
func requirePlaces(t *testing.T, folder string, s *experiment.State) {
	t.Helper()
	first := map[int]map[int32]int16{} // by arrangement: the replica of each sample
	for _, trial := range s.Trials {
		data, err := ledger.ReadRequests(filepath.Join(folder, trial.Folder, record.RequestsName))
		require.NoError(t, err)
		places := map[int32]int16{}
		for i := range data.Entries {
			places[data.Entries[i].Index] = data.Entries[i].Endpoint
		}
		require.Len(t, data.Entries, s.Samples)
		require.Len(t, places, s.Samples)
		if first[trial.Arrangement] == nil {
			first[trial.Arrangement] = places
		} else if s.Arrangements[trial.Arrangement].How != experiment.Stealing {
			require.Equal(t, first[trial.Arrangement], places, trial.Folder)
		}
	}
	require.Len(t, first, len(s.Arrangements))
	require.NotEqual(t, first[0], first[1])
	require.NotEqual(t, first[0], first[2])
	require.NotEqual(t, first[1], first[2])
}
