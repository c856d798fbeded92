package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/schema"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/sweep"
)

// A sweep that is killed during a point continues with the next one, and its sweep.json is complete at any time.
func TestAKilledSweepContinues(t *testing.T) {
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	dir := t.TempDir()
	set, folder := synthetic(t, "generic", 64), filepath.Join(dir, "out")
	url, _ := startSim(deferring{t}, filepath.Join(dir, "ready"), "--benchmark", "generic", "--dataset", set, "--model",
		"m")
	args := []string{"--json", "--no-progress", "sweep", "--model", "generic", "--endpoint", url, "--served-model", "m",
		"--dataset", set, "--concurrencies", "1,2,4", "--point-duration", "1s", "--point-warmup", "0", "--point-queries",
		"10", "--ttft-limit", "10s", "--output-dir", folder}
	for measured := 1; measured < 3; measured++ { // killed while the next point is measured
		p := start(t, folder, append(args, "--resume")...)
		p.until("a point", patience, func() bool {
			s, err := sweep.ReadState(folder)
			require.True(t, err == nil || os.IsNotExist(err) || s == nil && measured == 1, "%v", err)
			return err == nil && len(s.Points) == measured
		})
		require.NoError(t, p.cmd.Process.Kill())
		require.Equal(t, -1, p.end(endWithin))
	}
	before, err := sweep.ReadState(folder)
	require.NoError(t, err)
	require.Nil(t, before.Result)

	p := start(t, folder, append(args, "--resume")...)
	require.Equal(t, 0, p.end(patience), p.stderr.String())
	var after sweep.State
	require.NoError(t, json.Unmarshal(p.stdout.Bytes(), &after))
	require.Equal(t, 3, after.Result.Counted)
	for i, point := range before.Points {
		require.Equal(t, point.Started.UnixNano(), after.Points[i].Started.UnixNano(), "the point at %v was measured again",
			point.Load)
	}
	form, err := schematest.Compile("sweep.schema.json", schema.Sweep)
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(p.stdout.Bytes()))
	require.NoError(t, err)
	require.NoError(t, form.Validate(v))
}
