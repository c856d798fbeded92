package main

import (
	"bufio"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/sim"
)

// At its start the simulator reports its kind of answers, because random answers fail accuracy tests.
func TestTheSimulatorReportsWhatItAnswers(t *testing.T) {
	t.Parallel()
	rows := synthetic(t, "llama3.1-8b", 3)
	for want, flags := range map[string][]string{
		"it plays vllm and answers with random tokens, because there is no --dataset: accuracy tests will fail": nil,
		"it plays ollama and answers with the reference outputs of 3 prompts (quality 0.5)": {"--dialect", "ollama",
			"--dataset", rows, "--quality", "0.5"},
		"it plays vllm and answers with random tokens: accuracy tests will fail": {"--dataset", rows, "--answers", "random"},
		"it plays vllm and answers with the prompt: accuracy tests will fail":    {"--answers", "echo"},
	} {
		cmd := exec.Command("mlperf-go", append([]string{"sim"}, flags...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(stderr)
		require.True(t, lines.Scan())
		require.Contains(t, lines.Text(), " serves ")
		require.True(t, lines.Scan())
		require.Equal(t, "info: simulator: "+want, lines.Text())
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // the process is killed
	}
}

// A campaign's assumptions about its simulator match the simulator's defaults.
func TestSpeedOfTheSimulator(t *testing.T) {
	d := sim.DefaultConfig()
	require.Equal(t, d.MaxNumSeqs, rehearse.Parallel)
	require.Zero(t, d.PrefillRate)
	require.Equal(t, d.TTFT+100*d.TPOT, rehearse.AnswerTime(100))
}
