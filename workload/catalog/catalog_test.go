package catalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/dialect"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/schedule"
)

// Every predefined profile is valid without any variable, has a schedule, and is named after its file.
func TestEveryProfileLoads(t *testing.T) {
	cases := map[string]bool{}
	for _, u := range UseCases() {
		cases[u.ID] = false
	}
	all := All()
	require.GreaterOrEqual(t, len(all), 57)
	for _, f := range all {
		p, err := f.Read(dialect.Options{})
		require.NoError(t, err, f.Path)
		require.Equal(t, f.Name, p.Name, f.Path)
		require.NotEmpty(t, p.Description, f.Path)
		require.Nil(t, p.Source, "%s: a predefined profile needs no repair", f.Path)
		if p.UseCase != "" {
			require.Contains(t, cases, p.UseCase, f.Path)
			cases[p.UseCase] = true
		}
		for i := range p.Load.Stages {
			s := &p.Load.Stages[i]
			switch s.Arrival {
			case profile.Closed, profile.Sessions, profile.Trace:
				require.True(t, s.Arrival == profile.Trace || s.Concurrency > 0, f.Path)
				continue
			}
			due, err := schedule.Due(s, schedule.Seed{Profile: p.Seed, Stage: i}, nil)
			require.NoError(t, err, f.Path)
			require.NotEmpty(t, due, f.Path)
		}
		encoded, err := p.Encode()
		require.NoError(t, err)
		again, err := dialect.Parse("", f.Path, encoded, dialect.Options{})
		require.NoError(t, err, f.Path)
		require.Equal(t, p, again, f.Path)
	}
	for id, covered := range cases {
		require.True(t, covered, "the use case %s has no profile", id)
	}
}

// If a profile of a use case has limits, they are those of the use case's goal.
func TestLimitsFollowTheGoal(t *testing.T) {
	goals := map[string]Goal{}
	for _, u := range UseCases() {
		goals[u.ID] = u.Goal
		require.NotEmpty(t, u.Goal.Metrics())
	}
	limited := map[string]bool{}
	for _, f := range All() {
		p, err := f.Read(dialect.Options{})
		require.NoError(t, err)
		if p.UseCase != "" && p.SLO != (profile.SLO{}) {
			require.True(t, goals[p.UseCase].Limits(p.SLO), f.Path)
			limited[p.UseCase] = true
		}
	}
	require.Len(t, limited, len(goals))
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ harness, name, want, err string }{
		{"inference-perf", "sanity_random", "inference-perf/sanity_random.yaml", ""},
		{"inference_perf", "sanity-random.yaml.in", "inference-perf/sanity_random.yaml", ""},
		{"guidellm", "sanity_random.yaml", "guidellm/sanity_random.yaml", ""},
		{"", "inference_perf/sanity-random", "inference-perf/sanity_random.yaml", ""},
		{"guidellm", "guidellm/sanity_random", "guidellm/sanity_random.yaml", ""},
		{"", "guidellm/sanity", "", "did you mean sanity_random"},
		{"guidellm", "inference-perf/sanity_random", "", "cannot read the profile"},
		{"", "configs/sanity_random", "", "cannot read the profile"},
		{"", "translation", "mlperf-go/translation.yaml", ""},
		{"", "sanity_random", "", "there is one for each of guidellm, inference-perf, vllm-benchmark; add --harness"},
		{"inference-perf", "sanity", "", "did you mean sanity_random"},
		{"inference-perv", "sanity_random", "", "did you mean inference-perf or"},
		{"nop", "qqqqqqq", "", "those of nop are nop"},
		{"", "qqqqqqqqqq", "", "`mlperf-go bench list` shows all"},
		{"", "./absent.yaml", "", "cannot read the profile"},
	} {
		f, err := Find(c.harness, c.name)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, f.Path)
	}
}

func TestFoldersOfTheUserComeFirst(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "guidellm"), 0o755))
	text := []byte("target: http://h:1\nrate-type: concurrent\nrate: 3\nmax-seconds: 1\n" +
		"data: prompt_tokens=5,output_tokens=6\n")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "guidellm", "sanity_random.yaml.in"), text, 0o644))
	_, err := Find("guidellm", "sanity-random", filepath.Join(folder, "absent"), folder)
	require.ErrorContains(t, err, "cannot list the folder of profiles: open "+filepath.Join(folder, "absent"))
	linked := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(folder, "guidellm", "sanity_random.yaml.in"),
		filepath.Join(linked, "rag.yaml")))
	f, err := Find("guidellm", "rag", linked)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(linked, "rag.yaml"), f.Path, "before the predefined profile of that name")
	f, err = Find("guidellm", "sanity-random", folder)
	require.NoError(t, err)
	p, err := f.Read(dialect.Options{})
	require.NoError(t, err)
	require.Equal(t, 3, p.Load.Stages[0].Concurrency)
	require.Equal(t, "guidellm", p.Source.Harness)
	f, err = Find("inference-perf", "sanity-random", folder)
	require.NoError(t, err)
	require.Equal(t, "inference-perf/sanity_random.yaml", f.Path, "another harness's folder does not count")
}

// Profiles of inference-perf send prompts as it does: new ones for each request of random data, and otherwise the same
// ones from the start of each stage, with the turns of all conversations in turn.
func TestProfilesOfInferencePerfRestart(t *testing.T) {
	for _, f := range All() {
		p, err := f.Read(dialect.Options{})
		require.NoError(t, err, f.Path)
		if f.Harness != "inference-perf" {
			continue
		}
		groups, turns := p.Data.Kind == profile.SharedPrefix, p.Data.Kind == profile.Conversations
		require.Equal(t, groups || turns, p.Data.Restart, f.Path)
		require.Equal(t, turns || groups && p.Data.Groups.MultiTurn, p.Data.Rotate, f.Path)
		require.True(t, p.Data.Kind != profile.Random || p.Data.Rows == 0, f.Path)
	}
}
