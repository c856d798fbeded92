package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSecretsAreHidden(t *testing.T) {
	long := strings.Repeat("x", 2000)
	require.Equal(t, map[string]string{
		"PATH": "/bin", "HF_TOKEN": hidden, "vllm_api_key": hidden, "DB_PASSWORD": hidden, "EMPTY_KEY": "", "HTTPS_PROXY": "http://***@proxy:3128/x", "INDEX": "http://host/a@b",
		"LONG": long[:longestValue] + "...", "BYTES": "a\ufffd", "LATE": "2",
	}, hideEnviron([]string{
		"PATH=/bin", "HF_TOKEN=hf_abc", "vllm_api_key=k", "DB_PASSWORD=p=q", "EMPTY_KEY=", "HTTPS_PROXY=http://me:word@proxy:3128/x", "INDEX=http://host/a@b", "LONG=" + long,
		"BYTES=a\xff", "LATE=1", "LATE=2", "no variable",
	}))
}

func TestGaps(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	var r ReplicaState
	for i := range maxGaps + 2 {
		r.beginGap(at(2*i), errDeadline)
		require.Equal(t, Unhealthy, r.Health)
		before := r.Gaps
		r.endGap(at(2*i + 1))
		require.Equal(t, Ready, r.Health)
		if i < maxGaps {
			require.Nil(t, before[i].Until, "who has the old list keeps it")
		}
	}
	require.Len(t, r.Gaps, maxGaps)
	require.Equal(t, maxGaps+2, r.Unhealthy)
	until := at(20)
	for _, c := range []struct {
		from, to int
		want     bool
	}{{0, 10, false}, {0, 11, true}, {12, 13, true}, {19, 30, true}, {20, 30, false}} {
		require.Equal(t, c.want, Gap{From: at(10), Until: &until}.within(at(c.from), at(c.to)), c)
	}
	require.True(t, Gap{From: at(10)}.within(at(90), at(99)))
}

func TestAModelFolderInAVirtualEnvironment(t *testing.T) {
	venv := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(venv, "bin"), 0o755))
	python := filepath.Join(venv, "bin", "python")
	require.NoError(t, os.WriteFile(python, nil, 0o755))
	model := t.TempDir()

	c := Defaults(model)
	require.NoError(t, c.SetModel(model))
	require.NoError(t, c.SetBackend("sglang"))
	require.NoError(t, c.SetPython(venv))
	p, err := NewPlan(c, Options{Replicas: 2, GPUsPerReplica: 1, GPUs: eight(), Environ: []string{"PATH=/bin"}})
	require.NoError(t, err)
	require.Equal(t, []string{python, "-m", "sglang.launch_server", "--model-path", model, "--host", "127.0.0.1", "--port", "8001"}, p.Replicas[1].Command)
	require.Equal(t, []string{"PATH=/bin", "VIRTUAL_ENV=" + venv, "PATH=" + venv + "/bin:/bin"}, p.environ)
	require.Equal(t, "1", p.Replicas[1].Env["CUDA_VISIBLE_DEVICES"])
	require.NoError(t, c.SetPython(python))
	require.Equal(t, python, c.Binary)

	require.ErrorContains(t, c.SetModel(python), "is no folder")
	require.ErrorContains(t, c.SetModel(model+"x"), "no such file")
	require.ErrorContains(t, c.SetBackend("openai"), "sglang and vllm can")
	require.ErrorContains(t, c.SetPython(model), "has no bin/python")
	require.ErrorContains(t, c.SetPython(model+"x"), "can not be used")
	c.LaunchCommand = []string{"serve"}
	require.ErrorContains(t, c.SetPython(venv), "launch_command names its own program")
}
