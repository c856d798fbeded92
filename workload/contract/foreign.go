package contract

import "strings"

// formerNames are long names of flags in llm-d-benchmark's shell scripts that differ from the current ones.
var formerNames = map[string]string{Model: "models", waitTimeout: "wait"}

// elsewhere names, for flags of llm-d-benchmark that no command here has, what does their work.
var elsewhere = map[string]string{
	"monitoring":              "--metrics records the servers' metrics during the run",
	"envvarspod":              "No pod is started here; --set-env sets the value of a placeholder",
	"generate-config":         "`mlperf-go bench init` prints the profile of a command line",
	"list-endpoints":          "--endpoint-url names the servers; `mlperf-go-kube run -t METHOD` finds those of a stack",
	"stack":                   "--endpoint-url names the servers; `mlperf-go-kube run -t METHOD` finds those of a stack",
	"spec":                    "`mlperf-go bench e2e --server-config FILE` starts the servers",
	"config":                  "--workload names the profile, and --scenario a file of variables",
	"step":                    "`bench plan`, `run`, `convert` and `upload` are the steps; `bench e2e` makes all",
	"treatment-max-attempts":  "Write treatment_max_attempts: N into the file of --experiments",
	"treatment-stop-on-error": "Write treatment_stop_on_error: true into the file of --experiments",
	"validate-failures": "A run with failed requests is INVALID, and treatment_max_attempts: N in the file of " +
		"--experiments repeats its treatment",
	"analyze":      "The analysis is part of every run; `mlperf-go report RUN` writes charts",
	"workspace":    "--output names the folder of the results",
	"verbose":      "--log-level debug prints more",
	"kubeconfig":   inCluster,
	"fast-collect": inCluster, "data-access-timeout": inCluster, "data-access-lookup-attempts": inCluster,
	"data-access-lookup-delay": inCluster, "pvc-bind-timeout": inCluster,
}

const inCluster = "It is about a cluster, and the results of this command are in --output at once; " +
	"`mlperf-go-kube run` sends a workload from a cluster"

// shorts are the short forms of these flags that no command here uses for anything else.
var shorts = map[string]string{"g": "envvarspod", "v": "verbose"}

// Remedy returns what does the work of a flag of llm-d-benchmark, long or short, that `bench` does not have; empty:
// llm-d-benchmark has no such flag either.
func Remedy(name string) string {
	name = strings.TrimLeft(name, "-")
	for _, s := range Settings() {
		if s.Place == Cluster && name != "" && (name == s.Flag || name == s.Short || name == formerNames[s.Flag]) {
			return "It is a flag of `mlperf-go-kube run`, which sends a workload from a cluster"
		}
	}
	if long := shorts[name]; long != "" {
		name = long
	}
	return elsewhere[name]
}
