package contract

import "slices"

// Place is the command in which a setting has an effect.
type Place string

// The places.
const (
	Bench   Place = "bench"   // bench run and bench plan
	Cluster Place = "cluster" // runs in a cluster
	Ignored Place = "ignored" // it has no counterpart in this program
)

// Setting is a flag and the variables that set it too.
type Setting struct {
	Flag      string // long name; empty: variables only
	Short     string
	Variables []string // newest first
	Default   string
	Place     Place
	List      bool // may be repeated
	Switch    bool
	Usage     string
}

// Names of settings that this package reads.
const (
	Harness   = "harness"
	Workload  = "workload"
	Model     = "model"
	Endpoint  = "endpoint-url"
	overrides = "overrides"
	treatment = "experiments"
	scenario  = "scenario"
	setEnv    = "set-env"
	keep      = "allow-unresolved"
	compat    = "profile-compat"
	folders   = "profiles"
	file      = "workload-file-path"
	dataset   = "dataset"
	namespace = "namespace"
	methods   = "methods"

	waitTimeout = "wait-timeout"
	workDir     = "LLMDBENCH_CONTROL_WORK_DIR"
)

// Settings returns the table. The variables are those of llm-d-benchmark, both of its current program and of its
// shell scripts.
func Settings() []Setting {
	return []Setting{
		{Harness, "l", []string{"LLMDBENCH_HARNESS", "LLMDBENCH_HARNESS_NAME"}, "", Bench, false, false,
			"tool that the profile belongs to: " + harnessNames()},
		{Workload, "w", []string{"LLMDBENCH_WORKLOAD", "LLMDBENCH_HARNESS_EXPERIMENT_PROFILE"}, "", Bench, false, false,
			"profile: a file, or a name that mlperf-go bench list prints"},
		{file, "", nil, "", Bench, false, false, "file of the profile, instead of a name"},
		{overrides, "o", []string{"LLMDBENCH_OVERRIDES", "LLMDBENCH_HARNESS_EXPERIMENT_PROFILE_OVERRIDES"}, "", Bench, true,
			false, "changes of the profile, such as min=20,load.stages.0.rate=4"},
		{treatment, "e", []string{"LLMDBENCH_EXPERIMENTS", "LLMDBENCH_HARNESS_EXPERIMENT_TREATMENTS"}, "", Bench, false,
			false, "file of treatments; each one gets a run"},
		{scenario, "c", []string{"LLMDBENCH_DEPLOY_SCENARIO"}, "", Bench, false, false,
			"file of variables in shell form; it is read, never executed"},
		{setEnv, "", nil, "", Bench, true, false, "value of a placeholder, as NAME=VALUE"},
		{keep, "", nil, "", Bench, false, true, "keep placeholders of variables without a value"},
		{compat, "", nil, "", Bench, false, true, "ignore unknown keys of a profile, with a note"},
		{folders, "", nil, "", Bench, true, false, "folder with additional profiles, HARNESS/NAME.yaml"},
		{dataset, "x", []string{"LLMDBENCH_RUN_DATASET_FILE"}, "", Bench, false, false, "data file to use instead of the " +
			"profile's"},
		{Model, "m", []string{"LLMDBENCH_MODEL", "LLMDBENCH_DEPLOY_MODEL_LIST"}, "", Bench, false, false,
			"name of the model in requests; default: the profile's, or the first that the server lists"},
		{Endpoint, "U", []string{"LLMDBENCH_HARNESS_STACK_ENDPOINT_URL"}, "", Bench, true, false,
			"base URL of a server; default: the profile's"},

		{"", "", []string{workDir}, "", Bench, false, false, "folder whose results/ gets runs without --output"},

		{namespace, "p", []string{"LLMDBENCH_NAMESPACE", "LLMDBENCH_HARNESS_NAMESPACE", "LLMDBENCH_VLLM_COMMON_NAMESPACE"},
			"llmdbench", Cluster, false, false, "namespaces of the stack and of the launcher"},
		{methods, "t", []string{"LLMDBENCH_METHODS", "LLMDBENCH_DEPLOY_METHODS"}, "modelservice", Cluster, false, false,
			"how the stack was deployed"},
		{waitTimeout, "s", []string{"LLMDBENCH_WAIT_TIMEOUT", "LLMDBENCH_HARNESS_WAIT_TIMEOUT"}, "3600", Cluster, false,
			false, "seconds to wait for the launcher"},
		{"pvc", "k", []string{"LLMDBENCH_HARNESS_PVC_NAME"}, "workload-pvc", Cluster, false, false, "volume of the results"},
		{"serviceaccount", "q", []string{"LLMDBENCH_HARNESS_SERVICE_ACCOUNT"}, "", Cluster, false, false,
			"service account of the launcher"},
		{"skip", "z", []string{"LLMDBENCH_HARNESS_SKIP_RUN"}, "", Cluster, false, true, "collect an earlier run's results"},
		{"debug", "d", []string{"LLMDBENCH_HARNESS_DEBUG"}, "", Cluster, false, true, "start a launcher that sleeps"},
		{"parallelism", "j", nil, "1", Cluster, false, false, "launchers of each treatment"},

		{"pvc-size", "", []string{"LLMDBENCH_HARNESS_PVC_SIZE"}, "20Gi", Cluster, false, false, "size of the volume"},
		{"cpu", "", []string{"LLMDBENCH_HARNESS_CPU_NR"}, "16", Cluster, false, false, "processors of the launcher"},
		{"memory", "", []string{"LLMDBENCH_HARNESS_CPU_MEM"}, "32Gi", Cluster, false, false, "memory of the launcher"},
		{"start-timeout", "", []string{"LLMDBENCH_CONTROL_WAIT_TIMEOUT"}, "900", Cluster, false, false,
			"seconds until a pod runs"},
		{"results-dir", "", []string{"LLMDBENCH_RUN_EXPERIMENT_RESULTS_DIR_PREFIX"}, "/requests", Cluster, false, false,
			"mount point of the volume"},
		{"id", "", []string{"LLMDBENCH_RUN_EXPERIMENT_ID"}, "", Cluster, false, false, "name of the run"},
		{"dry-run", "n", []string{"LLMDBENCH_CONTROL_DRY_RUN"}, "", Cluster, false, true,
			"print all objects, and create none"},
		{"", "", []string{"LLMDBENCH_HARNESS_EXECUTABLE"}, "llm-d-benchmark.sh", Ignored, false, false,
			"program of the container; there is no other program here"},
		{"", "", []string{"LLMDBENCH_HARNESS_CONDA_ENV_NAME"}, "", Ignored, false, false,
			"Python environment of the analysis"},
		{"", "", []string{"LLMDBENCH_HARNESS_CONTAINER_IMAGE"}, "", Ignored, false, false, "image of fmperf's own pod"},
		{"", "", []string{"LLMDBENCH_HARNESS_PROFILE_HARNESS_LIST"}, "", Ignored, false, false,
			"list of harnesses; `bench list` prints it"},
		{"", "", []string{"LLMDBENCH_RUN_EXPERIMENT_ANALYZE_LOCALLY"}, "0", Ignored, false, false,
			"place of the analysis, which is part of the run here"},
		{"", "", []string{"LLMDBENCH_CONTROL_VERBOSE"}, "0", Ignored, false, false, "see --log-level"},
	}
}

// Values reads flags of a parsed command line by their long names, as cli.Context does.
type Values interface {
	Bool(name string) bool
	String(name string) string
	StringSlice(name string) []string
}

// Given returns the flags of a place that a command line sets.
func Given(values Values, place Place) Flags {
	given := Flags{}
	for _, s := range Settings() {
		switch {
		case s.Flag == "" || s.Place != place:
		case s.Switch && values.Bool(s.Flag):
			given[s.Flag] = []string{"true"}
		case s.List:
			given[s.Flag] = values.StringSlice(s.Flag)
		case values.String(s.Flag) != "":
			given[s.Flag] = []string{values.String(s.Flag)}
		}
	}
	return given
}

// Constructors make the flags of a command line's parser, of which this package has none. Each gets the aliases of the
// setting.
type Constructors[F any] struct {
	Switch, List, Text func(s Setting, aliases []string) F
}

// Flag returns the flag of a setting.
func (c Constructors[F]) Flag(s Setting) F {
	var aliases []string
	if s.Short != "" {
		aliases = []string{s.Short}
	}
	if former := formerNames[s.Flag]; former != "" {
		aliases = append(aliases, former)
	}
	switch {
	case s.Switch:
		return c.Switch(s, aliases)
	case s.List:
		return c.List(s, aliases)
	}
	return c.Text(s, aliases)
}

// Flags returns the flags of a place, less those of the given names.
func (c Constructors[F]) Flags(place Place, less ...string) (flags []F) {
	for _, s := range Settings() {
		if s.Flag != "" && s.Place == place && !slices.Contains(less, s.Flag) {
			flags = append(flags, c.Flag(s))
		}
	}
	return flags
}
