package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/template"
)

func rendered(t *testing.T, flags Flags, environ map[string]string) []Rendered {
	t.Helper()
	v, _, err := Resolve(flags, template.Map(environ))
	require.NoError(t, err)
	list, err := v.Render()
	require.NoError(t, err)
	return list
}

// The contract's own example.
func TestOverridesOfAPredefinedProfile(t *testing.T) {
	list := rendered(t, Flags{Harness: {"inference-perf"}, Workload: {"sanity-random"}, Model: {"a/b"},
		overrides: {"min=20,total_count=200"}}, nil)
	require.Len(t, list, 1)
	require.Equal(t, "sanity_random", list[0].Name)
	require.EqualValues(t, 20, list[0].Profile.Data.Input.Min)
	require.EqualValues(t, 20, list[0].Profile.Data.Output.Min)
	require.Equal(t, 200, list[0].Profile.Data.Rows)
	require.NotEmpty(t, list[0].Profile.Source.Notes)
}

// A value for a text is text, even if it looks like a number or a truth value.
func TestOverridesKeepTexts(t *testing.T) {
	list := rendered(t, Flags{Harness: {"inference-perf"}, Workload: {"sanity_random"},
		overrides: {"api.model=123,name=007,description=true"}}, nil)
	p := list[0].Profile
	require.Equal(t, []string{"123", "007", "true"}, []string{p.API.Model, p.Name, p.Description})
}

// A flag takes precedence over the scenario file, and that over the environment. Both generations of variables count.
func TestPrecedence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sh")
	require.NoError(t, os.WriteFile(path,
		[]byte("export LLMDBENCH_HARNESS_EXPERIMENT_PROFILE=sanity_concurrent\nrm -rf x\n"), 0o644))
	environ := map[string]string{"LLMDBENCH_HARNESS_NAME": "guidellm",
		"LLMDBENCH_HARNESS_EXPERIMENT_PROFILE": "multi-turn",
		"LLMDBENCH_DEPLOY_MODEL_LIST":          "x/y,z"}
	require.Equal(t, "multi-turn", rendered(t, Flags{}, environ)[0].Name)
	list := rendered(t, Flags{scenario: {path}}, environ)
	require.Equal(t, "sanity_concurrent", list[0].Name)
	require.Equal(t, []string{"x/y", "z"}, []string{list[0].Model, list[1].Model})
	require.Equal(t, "x-y-sanity_concurrent", list[0].Folder())
	list[0].Server = "pod/a:1"
	require.Equal(t, "pod-a-1-x-y-sanity_concurrent", list[0].Folder())
	require.Equal(t, "sanity_random", rendered(t, Flags{scenario: {path}, Workload: {"sanity_random"}}, environ)[0].Name)
	environ["LLMDBENCH_WORKLOAD"] = "concurrent-1k-1k"
	require.Equal(t, "concurrent-1k-1k", rendered(t, Flags{}, environ)[0].Name, "the newer variable counts")
	require.Equal(t, "sanity_concurrent", rendered(t, Flags{scenario: {path}}, environ)[0].Name,
		"a file precedes a newer variable")

	_, notes, err := Resolve(Flags{scenario: {path}, "pvc": {"x"}}, template.Map(environ))
	require.NoError(t, err)
	require.Len(t, notes, 2)
	require.Contains(t, notes[0], "line 2: not an assignment")
	require.Contains(t, notes[1], "--pvc has no meaning without a cluster")
}

// TestClusterVariables lists what the variables of namespaces mean together.
func TestClusterVariables(t *testing.T) {
	for want, environ := range map[string]map[string]string{
		"":    {},
		"a":   {"LLMDBENCH_VLLM_COMMON_NAMESPACE": "a"},
		"b":   {"LLMDBENCH_HARNESS_NAMESPACE": "b"},
		"a,b": {"LLMDBENCH_VLLM_COMMON_NAMESPACE": "a", "LLMDBENCH_HARNESS_NAMESPACE": "b"},
		"c": {"LLMDBENCH_VLLM_COMMON_NAMESPACE": "a", "LLMDBENCH_HARNESS_NAMESPACE": "b",
			"LLMDBENCH_NAMESPACE": "c"},
	} {
		got, err := ClusterVariables(nil, template.Map(environ))
		require.NoError(t, err)
		require.Equal(t, want, got["namespace"])
		require.NotContains(t, got, Model)
	}
	_, err := ClusterVariables(Flags{scenario: {"absent"}}, nil)
	require.ErrorContains(t, err, "cannot read the scenario file")
}

func TestTreatments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.yaml")
	require.NoError(t, os.WriteFile(path, []byte("treatments:\n- {name: slow, load.stages.0.rate: 0.5}\n"+
		"- {name: other, profile: sanity_random_seed}\ntreatment_max_attempts: 2\n"), 0o644))
	flags := Flags{Harness: {"inference-perf"}, Workload: {"sanity_random"}, treatment: {path}, overrides: {"seed=9"}}
	list := rendered(t, flags, nil)
	require.Equal(t, []string{"sanity_random-slow", "sanity_random_seed-other"}, []string{list[0].Name, list[1].Name})
	require.EqualValues(t, 0.5, list[0].Profile.Load.Stages[0].Rate)
	require.EqualValues(t, 9, list[1].Profile.Seed, "overrides apply to every treatment")
	v, _, err := Resolve(flags, nil)
	require.NoError(t, err)
	require.Equal(t, 2, v.Attempts())
	require.False(t, v.StopOnError())
}

// Each run needs a folder of its own, so that a second one of the same name is an error before anything is sent.
func TestRunsOfOneName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.yaml")
	require.NoError(t, os.WriteFile(path, []byte("treatments: [{name: a/b, seed: 1}, {name: a-b, seed: 2}]\n"), 0o644))
	flags := Flags{Harness: {"inference-perf"}, Workload: {"sanity_random"}, treatment: {path}}
	v, _, err := Resolve(flags, nil)
	require.NoError(t, err)
	_, err = v.Render()
	require.EqualError(t, err, `two runs have the name "sanity_random-a-b", and each needs a folder: give every treatment a `+
		"name of its own, and name each model once")
	v, _, err = Resolve(Flags{Harness: {"inference-perf"}, Workload: {"sanity_random"}, Model: {"m, m"}}, nil)
	require.NoError(t, err)
	_, err = v.Render()
	require.ErrorContains(t, err, `two runs have the name "m-sanity_random"`)
}

func TestData(t *testing.T) {
	data := filepath.Join(t.TempDir(), "d.json")
	require.NoError(t, os.WriteFile(data, nil, 0o644))
	list := rendered(t, Flags{Harness: {"vllm-benchmark"}, Workload: {"sharegpt"}, dataset: {data}}, nil)
	require.Equal(t, data, list[0].Profile.Data.Path)
	text := "model: REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_MODEL\n" +
		"base-url: REPLACE_ENV_LLMDBENCH_HARNESS_STACK_ENDPOINT_URL\n" +
		"dataset-name: custom\ndataset-path: REPLACE_ENV_LLMDBENCH_RUN_DATASET_DIR/REPLACE_ENV_F\n"
	path := filepath.Join(t.TempDir(), "p.yaml.in")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	p := rendered(t, Flags{file: {path}, Model: {"m"}, Endpoint: {"http://h:1"}, setEnv: {"F=x.jsonl",
		"LLMDBENCH_RUN_DATASET_DIR=dir"}}, nil)[0].Profile
	require.Equal(t, "m", p.API.Model)
	require.Equal(t, "http://h:1", p.API.Endpoint)
	require.Equal(t, "dir/x.jsonl", p.Data.Path)
	write := func(given string) Flags {
		require.NoError(t, os.WriteFile(path, []byte("base-url: http://h:1\nmodel: m\n"+given+"\n"), 0o644))
		return Flags{file: {path}, Harness: {"vllm-benchmark"}, dataset: {data}}
	}
	p = rendered(t, write("dataset-name: custom\ndataset-path: other"), nil)[0].Profile
	require.Equal(t, data, p.Data.Path)
	// A data file that nothing would read is an error, unless it is a variable for all profiles.
	flags := write("dataset-name: random")
	v, _, err := Resolve(flags, nil)
	require.NoError(t, err)
	_, err = v.Render()
	require.EqualError(t, err, "--dataset "+data+": profile p would not read it, because data of kind random have no "+
		"file; remove the flag, or give a profile with data.path")
	delete(flags, dataset)
	require.Empty(t, rendered(t, flags, map[string]string{"LLMDBENCH_RUN_DATASET_FILE": data})[0].Profile.Data.Path)
}

// --set-env precedes the model's name, and so does the environment for the tokenizer.
func TestPlaceholdersOfTheModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml.in")
	require.NoError(t, os.WriteFile(path, []byte("base-url: http://h:1\ndataset-name: random\n"+
		"model: REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_MODEL\n"+
		"tokenizer: REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_TOKENIZER\n"), 0o644))
	flags := Flags{file: {path}, Harness: {"vllm-benchmark"}, Model: {"m"}}
	of := func(environ map[string]string) []string {
		p := rendered(t, flags, environ)[0].Profile
		return []string{p.API.Model, p.API.Tokenizer}
	}
	environ := map[string]string{"LLMDBENCH_DEPLOY_CURRENT_MODEL": "e", "LLMDBENCH_DEPLOY_CURRENT_TOKENIZER": "t"}
	require.Equal(t, []string{"m", "m"}, of(nil))
	require.Equal(t, []string{"m", "t"}, of(environ))
	flags[setEnv] = []string{"LLMDBENCH_DEPLOY_CURRENT_TOKENIZER=dir", "LLMDBENCH_DEPLOY_CURRENT_MODEL=x"}
	require.Equal(t, []string{"x", "dir"}, of(environ))
}

// Results without --output go below the folder of llm-d-benchmark's variable.
func TestWorkDir(t *testing.T) {
	v, _, err := Resolve(Flags{Workload: {"translation"}}, template.Map(map[string]string{workDir: "/w"}))
	require.NoError(t, err)
	require.Equal(t, "/w", v.WorkDir())
	require.Empty(t, resolved(t, Flags{Workload: {"translation"}}).WorkDir())
}

func resolved(t *testing.T, flags Flags) *Invocation {
	t.Helper()
	v, _, err := Resolve(flags, nil)
	require.NoError(t, err)
	return v
}

// Of an override on the command line and one of a treatment, one would have no effect. Constants give way.
func TestOverridesOfTreatments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.yaml")
	require.NoError(t, os.WriteFile(path, []byte("constants: {seed: 1, min: 30}\ntreatments:\n"+
		"- {name: a, load.stages.0.rate: 1}\n- {name: b, load.stages.0.rat: 2}\n"), 0o644))
	flags := Flags{Harness: {"inference-perf"}, Workload: {"sanity_random"}, treatment: {path},
		overrides: {"load.stages.0.rate=5"}}
	_, err := resolved(t, flags).Render()
	require.EqualError(t, err, "experiment "+path+" line 3: treatment a: it sets load.stages.0.rate, and so does "+
		"--overrides; remove one of them")
	flags[overrides] = []string{"seed=9"}
	_, err = resolved(t, flags).Render()
	require.ErrorContains(t, err, "experiment "+path+" line 4: treatment b: profile ")
	require.ErrorContains(t, err, "load.stages.0.rat: unknown key; did you mean rate?")
	flags[overrides] = []string{"seed=9,load.stages.0.rat=2"}
	_, err = resolved(t, flags).Render()
	require.ErrorContains(t, err, "unknown key; did you mean rate?")
	require.NoError(t, os.WriteFile(path, []byte("constants: {seed: 1, min: 30}\ntreatments: [{name: a, rate: 3}]\n"),
		0o644))
	flags[overrides] = []string{"seed=9"}
	list := rendered(t, flags, nil)
	require.EqualValues(t, 9, list[0].Profile.Seed)
	require.EqualValues(t, 30, list[0].Profile.Data.Input.Min)
	require.EqualValues(t, 3, list[0].Profile.Load.Stages[0].Rate)
}

// TestStackVariables has the placeholders that follow from the model, the method and the namespace of a stack.
func TestStackVariables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml.in")
	require.NoError(t, os.WriteFile(path, []byte("model: m\nbase-url: http://h:1\ndataset-name: random\nextra-body: "+
		`'{"a": "REPLACE_ENV_LLMDBENCH_HARNESS_STACK_NAME REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_MODEL_ID_LABEL `+
		`REPLACE_ENV_LLMDBENCH_DEPLOY_CURRENT_MODELID"}'`+"\n"), 0o600))
	text := func(list []Rendered, i int) any { return list[i].Profile.API.Extra["a"] }
	flags := Flags{file: {path}, Harness: {"vllm-benchmark"}, Model: {"Qwen/Qwen3-0.6B, gpt2"}}
	list := rendered(t, flags, nil)
	require.Equal(t, "nok8s-6b-base qwen-qwe-07df2612-en3-0-6b qwen-qwen3-0-6b", text(list, 0))
	require.Equal(t, "nok8s--base gpt2-42a57586-gpt2 gpt2", text(list, 1), "each model has its own")
	environ := map[string]string{"LLMDBENCH_DEPLOY_METHODS": "modelservice", "LLMDBENCH_VLLM_COMMON_NAMESPACE": "serving"}
	require.Equal(t, "llm-d-6b-base qwen-qwe-74603ae2-en3-0-6b qwen-qwen3-0-6b", text(rendered(t, flags, environ), 0))
	environ["LLMDBENCH_HARNESS_STACK_NAME"] = "mine"
	require.Contains(t, text(rendered(t, flags, environ), 0), "mine qwen-")
	_, err := func() ([]Rendered, error) {
		v, _, err := Resolve(Flags{file: {path}, Harness: {"vllm-benchmark"}}, nil)
		require.NoError(t, err)
		return v.Render()
	}()
	require.ErrorContains(t, err, "has no value", "without a model there is no name")
}

func TestBadCommandLines(t *testing.T) {
	for _, c := range []struct {
		flags Flags
		want  string
	}{
		{Flags{}, "no workload is given"},
		{Flags{Workload: {"nothing-like-it"}}, "no profile"},
		{Flags{Workload: {"translation"}, overrides: {"minn=20"}}, "did you mean min?"},
		{Flags{Workload: {"translation"}, overrides: {"min"}}, "expected KEY=VALUE"},
		{Flags{Workload: {"translation"}, setEnv: {"X"}}, "expected NAME=VALUE"},
		{Flags{Workload: {"translation"}, treatment: {"absent.yaml"}}, "cannot read the treatments"},
		{Flags{Workload: {"translation"}, scenario: {"absent.sh"}}, "cannot read the scenario file"},
		{Flags{Workload: {"translation"}, scenario: {"Server"}}, "a workload has no scenario of MLPerf such as Server"},
		{Flags{file: {"absent.yaml"}}, "cannot read the profile"},
	} {
		v, _, err := Resolve(c.flags, template.Map(nil))
		if err == nil {
			_, err = v.Render()
		}
		require.ErrorContains(t, err, c.want)
	}
}

// TestConstructors makes a flag of each setting of a place with the constructor of its kind.
func TestConstructors(t *testing.T) {
	made := func(kind string) func(Setting, []string) string {
		return func(s Setting, aliases []string) string {
			return strings.Join(append([]string{kind, s.Flag}, aliases...), " ")
		}
	}
	flags := Constructors[string]{Switch: made("switch"), List: made("list"), Text: made("text")}.
		Flags(Bench, Model)
	require.Subset(t, flags, []string{"switch profile-compat", "list overrides o", "text workload w"})
	require.NotContains(t, flags, "text model m")
	require.NotContains(t, flags, "text cpu")
}

// A flag of llm-d-benchmark that bench does not have is rejected with what does its work.
func TestRemedies(t *testing.T) {
	for flag, want := range map[string]string{
		"-monitoring": "--metrics", "g": "--set-env", "-v": "--log-level", "-t": "`mlperf-go-kube run`",
		"--methods": "`mlperf-go-kube run`", "wait": "`mlperf-go-kube run`", "kubeconfig": "`mlperf-go-kube run`",
		"generate-config": "`mlperf-go bench init`", "treatment-max-attempts": "treatment_max_attempts: N",
	} {
		require.Contains(t, Remedy(flag), want, flag)
	}
	for _, flag := range []string{"", "-", "workload", "w", "nonsense"} {
		require.Empty(t, Remedy(flag), flag)
	}
	for _, s := range Settings() {
		require.NotContains(t, elsewhere, s.Flag)
		require.NotContains(t, shorts, s.Short)
	}
}
