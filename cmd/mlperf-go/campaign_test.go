package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// startCampaign starts Server of llama3.1-8b, performance for about six seconds and then accuracy. Its limits suit a
// busy machine.
func startCampaign(t *testing.T, folder string, more ...string) *process {
	t.Helper()
	args := append([]string{"submission", "run", "--model", "llama3.1-8b", "--scenario", "Server", "--samples", "32",
		"--target-qps", "100",
		"--min-queries", "600", "--min-duration", "0", "--ttft-limit", "60s", "--tpot-limit", "10s", "--only",
		"performance,accuracy", "--output-dir", folder, "--no-progress"}, more...)
	return start(t, filepath.Join(folder, "simulated", "llama3.1-8b", "Server", "performance"), args...)
}

// running waits until the test of a step issues queries, and returns the campaign's children.
func (p *process) running() []int {
	p.t.Helper()
	p.issuing()
	children := childrenOf(p.cmd.Process.Pid)
	require.Len(p.t, children, 2, "the simulator and the step")
	return children
}

func (p *process) gone(pids []int) {
	p.t.Helper()
	p.until("the children to end", patience, func() bool {
		for _, pid := range pids {
			if alive(pid) {
				return false
			}
		}
		return true
	})
}

// resume completes a campaign and returns the states and verdicts of its steps.
func resume(t *testing.T, folder string) (states, verdicts []string) {
	t.Helper()
	p := startCampaign(t, folder, "--resume", "--json")
	require.Equal(t, 0, p.end(2*patience), "stdout:\n%s\nstderr:\n%s", p.stdout.String(), p.stderr.String())
	var out struct {
		Steps []struct{ State, Verdict string }
	}
	require.NoError(t, json.Unmarshal(p.stdout.Bytes(), &out))
	for _, s := range out.Steps {
		states, verdicts = append(states, s.State), append(verdicts, s.Verdict)
	}
	return states, verdicts
}

func TestKilledCampaignResumes(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "out")
	p := startCampaign(t, folder)
	children := p.running()
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.end(endWithin))
	p.gone(children)
	r, err := record.Read(p.folder)
	valid := err == nil && r.Verdict == record.Valid
	require.False(t, valid, "what was cut short is not valid")

	states, verdicts := resume(t, folder)
	require.Equal(t, []string{"done", "done"}, states)
	require.Equal(t, []string{"VALID", "VALID"}, verdicts)
	require.NoDirExists(t, filepath.Join(filepath.Dir(filepath.Dir(p.folder)), "Offline"),
		"the same set of runs, and no other")
}

func TestInterruptedCampaignKeepsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "out")
	p := startCampaign(t, folder)
	children := p.running()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, run.ExitInterrupt, p.end(endWithin), "stderr:\n%s", p.stderr.String())
	p.gone(children)
	r := p.record()
	require.Equal(t, record.Interrupted, r.Verdict)
	require.Positive(t, r.Samples.Completed)
	require.Regexp(t, `performance +failed +INTERRUPTED +0 +`, p.stdout.String(), "what the signal cancelled did not fail")
	require.NoDirExists(t, filepath.Join(filepath.Dir(p.folder), "accuracy"), "nothing is started after a signal")
	require.Regexp(t, `\nInterrupted: 0 of 2 steps are done.\n\nTo continue .*\n  mlperf-go submission run .* --output-dir `+
		folder+` .* --resume\n$`, p.stdout.String())

	_, verdicts := resume(t, folder)
	require.Equal(t, []string{"VALID", "VALID"}, verdicts)
}

func TestCampaignHidesTheKeyFromTheProcessList(t *testing.T) {
	t.Parallel()
	url, _ := startSim(deferring{t}, filepath.Join(t.TempDir(), "ready"), "--api-key", "quite-secret")
	p := startCampaign(t, filepath.Join(t.TempDir(), "out"), "--endpoint", url, "--api-key", "quite-secret")
	p.folder = strings.Replace(p.folder, "simulated", "system", 1)
	p.until("the step to start", patience, func() bool {
		_, err := os.Stat(filepath.Join(p.folder, record.UserConfName))
		return err == nil
	})
	children := childrenOf(p.cmd.Process.Pid)
	require.Len(t, children, 1)
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(children[0]), "cmdline"))
	require.NoError(t, err)
	require.Contains(t, string(line), "Server")
	require.NotContains(t, string(line), "quite-secret")
}
