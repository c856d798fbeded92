package http1_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// workload returns the µs of a request while the whole program sends it as a workload of users, and prints those from
// the program's start to its end. All prompts are one text: those of a test are built before it.
func (c *benchRow) workload(t *testing.T, url string) float64 {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/load.yaml", fmt.Appendf(nil, `schema: mlperf-go/profile/1
name: bench
api: {kind: completions, stream: %t}
data: {kind: fixed, text: %q, output: {kind: fixed, mean: 8}}
load: {stages: [{arrival: closed, concurrency: %d, requests: %d}]}
`, c.stream, strings.Repeat("some text ", c.request/10), c.conns, runRequests), 0o600))
	cmd := exec.Command("taskset", "-c", "1", os.Getenv(benchProgram), "bench", "run", "--quiet", "--workload",
		dir+"/load.yaml", "--endpoint-url", url, "--model", "m", "--shards", "1", "--output",
		dir+"/run")
	out, failed := cmd.CombinedOutput() // a busy machine makes it INVALID
	text, err := os.ReadFile(dir + "/run/bench.json")
	require.NoError(t, err, "%v: %s", failed, out)
	var record struct {
		Client struct {
			US float64 `json:"cpu_us_per_request"`
		} `json:"client"`
		Figures struct {
			Total struct {
				Requests struct {
					OK int `json:"successes"`
				} `json:"requests"`
			} `json:"total"`
		} `json:"figures"`
	}
	require.NoError(t, json.Unmarshal(text, &record))
	require.Equal(t, runRequests, record.Figures.Total.Requests.OK, "%s", out)
	fmt.Printf("MEASURED %s/workload-process %.4f us\n", c.name, us(cmd)/runRequests)
	return record.Client.US
}

// us returns the processor time of a command that has ended.
func us(cmd *exec.Cmd) float64 {
	return float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds())
}
