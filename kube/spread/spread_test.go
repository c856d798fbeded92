package spread

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/kube/launch"
	"github.com/mlperf-go/mlperf-go/kube/testcluster"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

const workload = `schema: mlperf-go/profile/1
name: spread
seed: 5
api: {kind: completions}
data: {kind: random, input: {kind: fixed, mean: 20}, output: {kind: fixed, mean: 4}}
load:
  stages:
    - {arrival: poisson, rate: 60, requests: 120}
    - {arrival: constant, rate: 80, requests: 80}
slo: {ttft: 20s}
`

// plan is what a run decided about its requests: number, stage, and the requested lengths.
func plan(t *testing.T, folder string) map[int]string {
	t.Helper()
	all := map[int]string{}
	_, err := eventlog.Read(filepath.Join(folder, eventlog.FileName), func(_ *eventlog.Header, r *eventlog.Request) error {
		require.NotContains(t, all, r.Seq)
		require.True(t, r.OK(), r.Reason)
		all[r.Seq] = fmt.Sprintf("stage %d, %d in, %d out", r.Stage, r.AskedInput, r.OutputTokens)
		return nil
	})
	require.NoError(t, err)
	return all
}

func spreadOptions(t *testing.T, namespace, id, url string, shards int) Options {
	l := kubetest.Launch(namespace, id)
	l.Profiles = map[string]string{"spread.yaml": workload}
	l.Pods, l.Control = shards, true
	l.Args = Args([]string{"bench", "run", "--workload", l.ProfilePath("spread.yaml"), "--endpoint-url", url, "--output",
		"$(RESULTS)/" + RunFolder}, shards)
	return Options{Stages: 2, Options: launch.Options{Launch: l, Output: t.TempDir(), Start: 3 * time.Minute,
		Wait:   5 * time.Minute,
		Notify: func(s string) { t.Log(s) }}}
}

// TestEightShards sends one workload from eight pods and from one process. Both send the same requests, and the merged
// run counts each of them.
func TestEightShards(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	url := kubetest.Simulator(t, "--ttft", "2ms", "--tpot", "1ms")
	alone := runAlone(t, url, workload)
	o := spreadOptions(t, kubetest.Namespace(t, tc), "eight", url, 8)
	var last shard.Progress
	answered := int64(0) // in the seconds that the shards counted
	o.Count, o.Progress = true, func(p shard.Progress) {
		last = p
		if p.Second != nil {
			answered += p.Second.Answered
		}
	}
	r, err := Run(t.Context(), kubetest.Connect(t, tc.Admin()), o)
	require.NoError(t, err)
	t.Logf("%s %v %v", r.Verdict, r.Reasons, r.Notes)
	merged := filepath.Join(o.Output, "merged")
	require.Equal(t, plan(t, alone), plan(t, merged))
	require.EqualValues(t, 200, r.Measured.Total.Requests.OK)
	require.Len(t, r.Spread.Shards, 8)
	require.Less(t, time.Duration(r.Spread.BoundNS), time.Second)
	require.Len(t, r.Stages, 2)
	require.EqualValues(t, 120, r.Stages[0].Requests)
	require.Greater(t, r.Stages[1].StartNS, r.Stages[0].EndNS-int64(time.Second))
	again, err := bench.Read(merged)
	require.NoError(t, err)
	require.Equal(t, r.Verdict, again.Verdict)
	require.EqualValues(t, 200, last.Sent)
	require.True(t, last.Last)
	require.EqualValues(t, 200, answered)
}

// conversations is a workload of conversations at a rate.
const conversations = `schema: mlperf-go/profile/1
name: turns
seed: 5
api: {kind: completions}
data:
  kind: conversations
  input: {kind: normal, mean: 20, std_dev: 5, min: 1, max: 40}
  output: 4
  turns: {conversations: 7, count: {kind: uniform, min: 1, max: 4}, shared_system: 10}
load:
  stages:
    - {arrival: poisson, rate: 40, requests: 60}
    - {arrival: constant, rate: 50, requests: 40}
slo: {ttft: 20s}
`

// turns is what a run decided about its requests, in a given order: what was asked for and what the server counted as
// the prompt, which contains the earlier turns and answers.
func turns(t *testing.T, folder string, order func(a, b eventlog.Request) int) (list []string) {
	t.Helper()
	var all []eventlog.Request
	_, err := eventlog.Read(filepath.Join(folder, eventlog.FileName), func(_ *eventlog.Header, r *eventlog.Request) error {
		require.True(t, r.OK(), r.Reason)
		all = append(all, *r)
		return nil
	})
	require.NoError(t, err)
	slices.SortFunc(all, order)
	for _, r := range all {
		list = append(list, fmt.Sprintf("stage %d, turn %d, %d asked, %d in, %d out", r.Stage, r.Turn, r.AskedInput,
			r.InputTokens, r.OutputTokens))
	}
	return list
}

// TestShardsOfConversations sends conversations from three pods and from one process: both send the same turns of the
// same conversations, in the same order.
func TestShardsOfConversations(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	url := kubetest.Simulator(t, "--ttft", "1ms", "--tpot", "1ms")
	want := turns(t, runAlone(t, url, conversations), func(a, b eventlog.Request) int {
		return cmp.Or(a.Stage-b.Stage, int(a.DueNS-b.DueNS))
	})
	require.Len(t, want, 100)
	o := spreadOptions(t, kubetest.Namespace(t, tc), "turns", url, 3)
	o.Profiles = map[string]string{"spread.yaml": conversations}
	r, err := Run(t.Context(), kubetest.Connect(t, tc.Admin()), o)
	require.NoError(t, err)
	// Shards number requests by the schedule. Two that are due within the error of their clocks may have changed places.
	require.Equal(t, want, turns(t, filepath.Join(o.Output, "merged"), func(a, b eventlog.Request) int {
		return a.Seq - b.Seq
	}))
	require.EqualValues(t, 100, r.Measured.Total.Requests.OK)
}

func runAlone(t *testing.T, url, workload string) string {
	t.Helper()
	dir := t.TempDir()
	profile := filepath.Join(dir, "spread.yaml")
	require.NoError(t, os.WriteFile(profile, []byte(workload), 0o600))
	var out bytes.Buffer
	command := exec.Command(kubetest.Program(t), "bench", "run", "--workload", profile, "--endpoint-url", url, "--output",
		filepath.Join(dir, "alone"))
	command.Stdout, command.Stderr = &out, &out
	if err := command.Run(); err != nil {
		require.Equal(t, 1, command.ProcessState.ExitCode(), "%s", out.String()) // a busy machine makes it INVALID
	}
	return filepath.Join(dir, "alone")
}

// TestLostShard kills one of three pods: the launch ends with an error that names it, and writes no partial result.
func TestLostShard(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	url := kubetest.Simulator(t)
	ns := kubetest.Namespace(t, tc)
	o := spreadOptions(t, ns, "lost", url, 3)
	killed := ""
	o.Notify = func(text string) {
		t.Log(text)
		if strings.Contains(text, "shards have started") {
			killed = kill(t, tc, ns)
		}
	}
	_, err := Run(t.Context(), kubetest.Connect(t, tc.Admin()), o)
	require.NotEmpty(t, killed)
	require.ErrorContains(t, err, killed)
	require.NoDirExists(t, filepath.Join(o.Output, "merged"))
}

// TestLostNode cuts the power of one of the shards' nodes: the launch ends with an error that names the lost pod and
// the reason, and writes no partial result.
func TestLostNode(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	nodes, place := kubetest.Reserve(t, tc, "shards", 2)
	ns := kubetest.Namespace(t, tc)
	o := spreadOptions(t, ns, "power", kubetest.Simulator(t, "--ttft", "2s"), 3)
	o.Placement = place
	var lost []string // pods
	o.Notify = func(text string) {
		t.Log(text)
		if strings.Contains(text, "shards have started") {
			lost = lose(t, tc, ns, nodes)
		}
	}
	_, err := Run(t.Context(), kubetest.Connect(t, tc.Admin()), o)
	require.ErrorContains(t, err, "its node was lost")
	require.True(t, slices.ContainsFunc(lost, func(pod string) bool { return strings.Contains(err.Error(), pod) }),
		"%v: %v", lost, err)
	require.NoDirExists(t, filepath.Join(o.Output, "merged"))
}
