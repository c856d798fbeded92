package http1_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// endSamples are enough that the program writes the request log while LoadGen computes its summary.
const endSamples = 200_000

// TestEndOfAServerTest measures how long the program runs after the last answer of a Server test, whose answers are
// streams of two tokens. It prints the seconds for a million samples, for scripts/benchsum.
func TestEndOfAServerTest(t *testing.T) {
	program := os.Getenv(benchProgram)
	if program == "" {
		t.Skip("a measurement of the whole program, which " + benchProgram + " names")
	}
	servers := wiretest.Nginx(t, 0, wiretest.Whole(200, "text/event-stream", wiretest.Event("5", "null")+
		wiretest.Event("6", `"length"`)+wiretest.Usage(2)+wiretest.Done))
	if servers == nil {
		return
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/rows.jsonl", []byte(`{"tok_input":[1,2,3]}`+"\n"), 0o600))
	out, err := exec.Command(program, "run", "--quiet", "--model", "generic", "--scenario", "Server", "--backend",
		"vllm", "--served-model", "m", "--stream", "--dataset", dir+"/rows.jsonl", "--endpoint",
		servers[wiretest.NginxPlain], "--target-qps", "60000", "--min-queries", strconv.Itoa(endSamples), "--min-duration",
		"0", "--max-tokens", "2", "--concurrency", "64", "--no-preflight-query", "--output-dir", dir+"/run").CombinedOutput()
	end := time.Now()
	text, missing := os.ReadFile(dir + "/run/run.json") // a busy machine makes the run INVALID
	require.NoError(t, missing, "%v: %s", err, out)
	var record struct {
		FirstIssue time.Time `json:"first_issue"`
		DurationS  float64   `json:"duration_s"`
		Samples    struct {
			Completed, Failed int
		} `json:"samples"`
	}
	require.NoError(t, json.Unmarshal(text, &record))
	require.Equal(t, endSamples, record.Samples.Completed, "%s", out)
	require.Zero(t, record.Samples.Failed, "%s", out)
	last := record.FirstIssue.Add(time.Duration(record.DurationS * float64(time.Second)))
	fmt.Printf("MEASURED end-of-server/million %.4f s\n", end.Sub(last).Seconds()*1e6/endSamples)
}
