package config

// The names of the older Python harness and their meanings here (docs/how-to/migration.md). This is the only list of
// them. RunSettings adds the flags to the settings, and the commands read the words and variables.

// oldFlag is a flag of the older harness.
type oldFlag struct {
	name    string
	setting string // setting whose value the flag sets; "": the flag is accepted without effect, as a separate setting
	value   string // value that a switch sets
	kind    Kind   // kind of the flag's value if there is no setting
	notice  string
}

var oldFlags = []oldFlag{
	{name: "use-generic", setting: "model", value: "generic"},
	{name: "test-mode", setting: "mode"},
	{name: "api-server-url", setting: "endpoint"},
	{name: "api-server-urls", setting: "endpoint"},
	{name: "endpoint-type", setting: "api"},
	{name: "load-balance-strategy", setting: "lb"},
	{name: "max-retries-per-server", setting: "retries"},
	{name: "model-name", setting: "model-path"},
	{name: "num-replicas", setting: "replicas"},
	{name: "num-gpus", setting: "gpus-per-replica"},
	{name: "dataset-path", setting: "dataset"},
	{name: "dataset-config-file", setting: "dataset-config"},
	{name: "num-samples", setting: "samples"},
	{name: "server-target-qps", setting: "target-qps"},
	{name: "offline-async-concurrency", setting: "concurrency"},
	{name: "offline-back-to-back", setting: "offline-strategy", value: "window",
		notice: "--offline-back-to-back is now --offline-strategy window (the default): one request per sample, " +
			"--concurrency of them in flight"},
	{name: "enable-metrics", setting: "metrics"},
	{name: "use-guided-decoding", setting: "response-format", value: "benchmark"},

	{name: "model-harness-class", kind: String,
		notice: "--model-harness-class is ignored: --model selects the benchmark, and there are no classes"},
	{name: "dataset-name", kind: String,
		notice: "--dataset-name is ignored: the benchmark has its columns, and --dataset-config describes other files"},
	{name: "num-workers", kind: Int,
		notice: "--num-workers is ignored: one event loop per shard handles any number of requests"},
	{name: "server-max-concurrent-queries", kind: Int,
		notice: "--server-max-concurrent-queries is ignored: a Server test must not delay queries"},
	{name: "mlperf-conf", kind: String,
		notice: "--mlperf-conf is ignored: the linked LoadGen contains the official one"},
	{name: "print-token-stats", kind: Bool,
		notice: "--print-token-stats is ignored: `mlperf-go show --answers RUN` prints the statistics, and `mlperf-go " +
			"dataset stats` those of a file"},
}

// oldValues are the older harness's spellings of values, in lower case with "-".
var oldValues = map[string]map[string]string{
	"mode": {"performance-only": "performance", "performanceonly": "performance", "accuracy-only": "accuracy",
		"accuracyonly": "accuracy"},
	"api": {"chat-completions": "chat", "sglang-generate": "generate"},
}

// oldSettings contains flags of the older harness whose meaning no other setting has.
var oldSettings = []Setting{
	{Name: "model-category", Kind: String, Hidden: true,
		Notice: "--model-category is now --model; if --model is given too, it is now --served-model",
		Usage:  "old name of --model"},
	{Name: "host", Kind: Strings, Hidden: true,
		Notice: "--host is now part of --endpoint http://HOST:PORT, or the host of --server-config",
		Usage:  "old way to give the servers' hosts; the ports are those of --server-config, or 8000"},
	{Name: "debug-mode", Kind: Bool, Hidden: true,
		Notice: "--debug-mode is now --log-level debug", Usage: "old name of --log-level debug"},
}

// withOldNames adds the older harness's names to the settings.
func withOldNames(t Table) Table {
	for i := range t {
		for name, old := range oldValues {
			if t[i].Name == name {
				t[i].Values = old
			}
		}
	}
	for _, f := range oldFlags {
		if f.setting == "" {
			t = append(t, Setting{Name: f.name, Kind: f.kind, Hidden: true, Ignored: true, Notice: f.notice, Usage: "ignored",
				Group: oldGroup})
			continue
		}
		s, _, err := t.Find(f.setting)
		if err != nil {
			panic("the old name " + f.name + " means no setting: " + err.Error())
		}
		s.Aliases = append(s.Aliases[:len(s.Aliases):len(s.Aliases)], Alias{Name: f.name, Value: f.value, Notice: f.notice})
	}
	return t
}

// OldNamesOf returns the older harness's names of a setting.
func OldNamesOf(setting string) []string {
	var names []string
	for _, f := range oldFlags {
		if f.setting == setting {
			names = append(names, f.name)
		}
	}
	return names
}

// OldEngineArgs is the old flag that preceded the engine's own arguments. They now follow "--".
const OldEngineArgs = "--engine-args"

// OldCommand is a word of the older harness's script for submissions, with the arguments that replace it.
type OldCommand struct {
	Word string
	Args []string
	// Audits is set if audits and a scenario follow the word.
	Audits bool
}

// OldCommands returns the words of the older harness's script.
func OldCommands() []OldCommand {
	return []OldCommand{
		{Word: "run-all"},
		{Word: "run-offline", Args: []string{"--scenario", "Offline"}},
		{Word: "run-server", Args: []string{"--scenario", "Server"}},
		{Word: "run-performance", Args: []string{"--only", "performance"}},
		{Word: "run-accuracy", Args: []string{"--only", "accuracy"}},
		{Word: "run-compliance", Audits: true},
	}
}

// OldVariable is an environment variable of the older harness's script for submissions, and the flag that replaces it.
// Only an OldCommand reads it, because the names are those of other programs too.
type OldVariable struct {
	Name string
	Flag string // flag whose value is Before, the variable's value, and After
	// Before is the first part of the flag's value and After is the last part.
	Before, After string
}

// OldVariables returns the variables in the order of precedence: the first that sets a flag wins.
func OldVariables() []OldVariable {
	return []OldVariable{
		{Name: "API_SERVER_URL", Flag: "endpoint"},
		{Name: "OUTPUT_DIR", Flag: "output-dir"},
		{Name: "MODEL_CATEGORY", Flag: "model-category"},
		{Name: "MODEL", Flag: "model"},
		{Name: "BACKEND", Flag: "backend"},
		{Name: "LG_MODEL_NAME", Flag: "lg-model-name"},
		{Name: "SCENARIO", Flag: "scenario"},
		{Name: "SERVER_TARGET_QPS", Flag: "target-qps"},
		{Name: "USER_CONF", Flag: "user-conf"},
		{Name: "PERF_DATASET", Flag: "dataset"},
		{Name: "DATASET_DIR", Flag: "dataset", After: "/perf/perf_eval_ref.parquet"},
		{Name: "ACC_DATASET", Flag: "set", Before: "accuracy.dataset="},
		{Name: "DATASET_DIR", Flag: "set", Before: "accuracy.dataset=", After: "/acc/acc_eval_ref.parquet"},
		{Name: "COMPLIANCE_DATASET", Flag: "set", Before: "TEST07.dataset="},
		{Name: "DATASET_DIR", Flag: "set", Before: "TEST07.dataset=", After: "/acc/acc_eval_compliance_gpqa.parquet"},
	}
}
