package config

import "time"

// Groups of the help text.
const (
	groupTest    = "Test"
	groupServer  = "Server"
	groupOwn     = "Servers of our own"
	groupData    = "Data set"
	groupLoad    = "Load (written to the generated user.conf)"
	groupLimits  = "Limits and deadlines"
	groupRequest = "Requests"
	groupClient  = "Client"
	groupOutput  = "Output"
	groupOld     = "Old names"
)

func old(names ...string) []Alias {
	aliases := make([]Alias, len(names))
	for i, n := range names {
		aliases[i] = Alias{Name: n}
	}
	return aliases
}

// RunSettings is the table of everything that a run can be told.
func RunSettings() Table {
	var t Table
	for _, part := range [][]Setting{testSettings, serverSettings, ownServerSettings, dataSettings, loadSettings,
		limitSettings, requestSettings, clientSettings, outputSettings, oldSettings} {
		t = append(t, part...)
	}
	return t
}

var testSettings = []Setting{
	{Name: "model", Kind: String, Group: groupTest,
		Aliases: []Alias{{Name: "use-generic", Value: "generic"}},
		Usage:   "benchmark: a name, alias or Hugging Face id of the registry; the command models lists them"},
	{Name: "scenario", Kind: Enum, Enum: []string{"Offline", "Server", "Interactive", "SingleStream"}, Group: groupTest,
		Default: "Offline",
		Values:  map[string]string{"single-stream": "SingleStream"},
		Usage:   "how LoadGen issues the samples"},
	{Name: "mode", Kind: Enum, Enum: []string{"performance", "accuracy", "submission"}, Group: groupTest,
		Default: "performance",
		Aliases: old("test-mode"),
		Values: map[string]string{"performance-only": "performance", "performanceonly": "performance",
			"accuracy-only": "accuracy", "accuracyonly": "accuracy"},
		Usage: "what the test is for; submission is performance and then accuracy"},
	{Name: "round", Kind: String, Group: groupTest,
		Usage: "round of the rules, such as v6.0: its seeds, limits, counts and targets; default: the newest that has the " +
			"benchmark"},
	{Name: "user-conf", Kind: String, Group: groupTest,
		Usage: "LoadGen user.conf whose values enter the configuration; a new one is generated and archived"},
	{Name: "audit-config", Kind: String, Group: groupTest, Usage: "LoadGen audit.config of a compliance test"},
	{Name: "lg-model-name", Kind: String, Group: groupTest, Usage: "LoadGen model key instead of the registry's"},
	{Name: "seed-override", Kind: Strings, Group: groupTest,
		Usage: "three LoadGen seeds qsl,sample-index,schedule instead of the round's; makes the run a rehearsal"},
	{Name: "network-sut", Kind: Bool, Group: groupTest, Default: "false",
		Usage: "the servers are reached over a network, as the network division wants; LoadGen's log then names the system " +
			"a Network SUT"},
	{Name: "score", Kind: Bool, Group: groupTest, Default: "true", Aliases: []Alias{{Name: "no-score", Value: "false"}},
		Usage: "score the answers of an accuracy test at its end; below target the run is not valid"},
	{Name: "tokenizer", Kind: String, Group: groupTest,
		Usage: "tokenizer.json, tokenizer.model, the folder of one, or a model's name (ORG/MODEL) in the Hugging Face " +
			"cache, to decode answers"},
	{Name: "tokenizer-revision", Kind: String, Group: groupTest,
		Usage: "branch or commit of the model in the cache or the hub; default: main"},
	{Name: "fetch-tokenizer", Kind: Bool, Group: groupTest, Default: "false",
		Usage: "download the tokenizer where it is found nowhere else"},
	{Name: "run-code", Kind: Bool, Group: groupTest, Default: "false",
		Usage: "run the programs among the answers in a sandbox; without it they are not scored, and no total is claimed; " +
			"default in rehearsals: yes"},
	{Name: "code-tests", Kind: String, Group: groupTest, Usage: "LiveCodeBench's tests: a JSONL file or a folder of them"},
	{Name: "code-service", Kind: String, Group: groupTest,
		Usage: "address (ws://...) of a service that runs LiveCodeBench's programs, in place of the sandbox"},
	{Name: "math-grader", Kind: String, Group: groupTest,
		Usage: "command that decides which mathematical expressions are equal, in place of the built-in comparison"},
	{Name: "sim-quality", Kind: Float, Range: Range{Max: 1}, Group: groupTest, Default: "1",
		Usage: "share of right answers of the simulator that a rehearsal starts"},
	{Name: "enable-trace", Kind: Bool, Group: groupTest, Default: "false", Usage: "LoadGen writes its trace file"},
}

var serverSettings = []Setting{
	{Name: "endpoint", Kind: Strings, Group: groupServer, Aliases: old("api-server-url", "api-server-urls"),
		Usage: "base URLs of the inference servers, repeatable or comma-separated"},
	{Name: "backend", Kind: String, Group: groupServer,
		Usage: "the server's kind: vllm, sglang, trtllm, llamacpp, ollama, openai or sim, or a registered one"},
	{Name: "api", Kind: Enum, Enum: []string{"completions", "chat", "generate"}, Group: groupServer,
		Aliases: old("endpoint-type"),
		Values:  map[string]string{"chat-completions": "chat", "sglang-generate": "generate"},
		Usage:   "the server's interface; default from model and backend"},
	{Name: "served-model", Kind: String, Group: groupServer,
		Usage: "model name that requests carry; checked at the server's list of models"},
	{Name: "api-key", Kind: String, Secret: true, Group: groupServer,
		Usage: "bearer token for the endpoints; better given by environment or file"},
	{Name: "api-key-file", Kind: String, Group: groupServer, Usage: "file whose first line is the bearer token"},
	{Name: "ca-file", Kind: String, Group: groupServer,
		Usage: "PEM file of certificate authorities to trust for the endpoints"},
	{Name: "proxy", Kind: String, Group: groupServer,
		Usage: "HTTP proxy through which the endpoints are reached, http://host:port; none is taken from the environment, " +
			"and its time is measured too"},
	{Name: "reset-cache", Kind: Enum, Enum: []string{"auto", "off", "require"}, Group: groupServer, Default: "auto",
		Usage: "have the servers empty their prefix caches before the timed phase: where they offer it, never, or else " +
			"start no test"},
	{Name: "insecure-skip-verify", Kind: Bool, Group: groupServer, Default: "false",
		Usage: "do not verify the endpoints' certificates"},
	{Name: "lb", Kind: Enum, Enum: []string{"round-robin", "random", "least-inflight", "hash"}, Group: groupServer,
		Default: "round-robin",
		Aliases: old("load-balance-strategy"), Usage: "how samples are spread over several endpoints"},
	{Name: "lb-key", Kind: Enum, Enum: []string{"index", "prefix", "session"}, Group: groupServer, Default: "index",
		Usage: "what --lb hash goes by: the sample, the beginning of its prompt (--lb-prefix-tokens), or its session " +
			"(--session-column)"},
	{Name: "lb-prefix-tokens", Kind: Int, Range: Range{Positive: true}, Group: groupServer, Default: "128",
		Usage: "token ids of a prompt's beginning that --lb-key prefix looks at; of a prompt without ids four bytes for each"},
}

// ownServerSettings say which servers are started for the run; package servers reads them.
var ownServerSettings = []Setting{
	{Name: "server-config", Kind: String, Group: groupOwn,
		Usage: "YAML file of the servers to start; with an endpoint only backend, model, endpoint type and limits are read " +
			"from it"},
	{Name: "server-dir", Kind: String, Group: groupOwn,
		Usage: "folder of the servers' logs and state, default the file's output_dir; with an endpoint: of servers that " +
			"run, for the record"},
	{Name: "model-path", Kind: String, Group: groupOwn, Aliases: old("model-name"),
		Usage: "folder of the model that the servers are started with; instead of server-config's, or without one"},
	{Name: "replicas", Kind: Int, Range: Range{Positive: true}, Group: groupOwn, Aliases: old("num-replicas"),
		Usage: "servers to start, each on a port of its own; default the file's, else 1"},
	{Name: "gpus-per-replica", Kind: Int, Group: groupOwn, Aliases: old("num-gpus"),
		Usage: "GPUs of each server; default the file's, else as the engine's arguments want"},
	{Name: "python", Kind: String, Group: groupOwn,
		Usage: "the servers' Python: a virtual environment or an interpreter; default the file's binary_path, else python3"},
}

var dataSettings = []Setting{
	{Name: "dataset", Kind: String, Group: groupData, Aliases: old("dataset-path"),
		Usage: "data set file; without it a synthetic one is made and the run is a rehearsal"},
	{Name: "samples", Kind: Int, Range: Range{Positive: true}, Group: groupData, Aliases: old("num-samples"),
		Usage: "take the first N rows as total and performance sample count; fewer than the benchmark's make a rehearsal"},
	{Name: "dataset-config", Kind: String, Group: groupData, Aliases: old("dataset-config-file"),
		Usage: "YAML file that says which columns of the data set hold what, its format, rows, file and model; what a flag " +
			"sets stands above it"},
	{Name: "input-column", Kind: String, Group: groupData, Usage: "column of the prompt texts"},
	{Name: "input-ids-column", Kind: String, Group: groupData, Usage: "column of the prompts as token ids"},
	{Name: "output-column", Kind: String, Group: groupData, Usage: "column of the reference outputs"},
	{Name: "session-column", Kind: String, Group: groupData,
		Usage: "column that says which rows belong together, such as the turns of a conversation, for --lb-key session"},
	{Name: "dataset-format", Kind: Enum, Enum: []string{"auto", "json", "csv", "parquet", "npy", "pickle"},
		Group: groupData, Usage: "format of the data set file; its content tells otherwise"},
	{Name: "prompt-template", Kind: String, Group: groupData,
		Usage: "text file that makes the prompts of a row's fields, such as {input}"},
	{Name: "lengths", Kind: String, Group: groupData,
		Usage: ".npy file of the prompts' lengths, for a data set in a .npy file"},
	{Name: "pad-side", Kind: Enum, Enum: []string{"right", "left"}, Group: groupData,
		Usage: "side of the padding in a .npy table; default: right"},
	{Name: "pad-id", Kind: Int, Group: groupData,
		Usage: "id that the padding in a .npy table must be; default: the first one met"},
	{Name: "request-memory", Kind: Bytes, Range: Range{Positive: true}, Group: groupData, Default: "2GiB",
		Usage: "memory for prepared request bodies; what is above goes to a mapped scratch file (bytes, or with KiB, MiB, " +
			"GiB)"},
}

var loadSettings = []Setting{
	{Name: "target-qps", Kind: Float, Range: Range{Positive: true}, Group: groupLoad, Aliases: old("server-target-qps"),
		Usage: "queries per second (Server, Interactive) or expected samples per second (Offline)"},
	{Name: "expected-latency", Kind: Duration, Range: Range{Positive: true}, Group: groupLoad,
		Usage: "expected latency of one answer in SingleStream; default: median of three preflight answers"},
	{Name: "min-duration", Kind: Duration, Group: groupLoad,
		Usage: "smallest duration of the test; shorter than the rules' makes a rehearsal"},
	{Name: "max-duration", Kind: Duration, Group: groupLoad,
		Usage: "LoadGen's longest duration, 0 for none; a Server run that it ends is INVALID"},
	{Name: "min-queries", Kind: Int, Group: groupLoad, Usage: "smallest number of queries (Offline: samples)"},
	{Name: "max-queries", Kind: Int, Group: groupLoad,
		Usage: "LoadGen's largest number of queries, 0 for none; a Server run that it ends is INVALID"},
	{Name: "ttft-limit", Kind: Duration, Range: Range{Positive: true}, Group: groupLoad,
		Usage: "p99 limit of the time to first token"},
	{Name: "tpot-limit", Kind: Duration, Range: Range{Positive: true}, Group: groupLoad,
		Usage: "p99 limit of the time per output token"},
	{Name: "server-coalesce-queries", Kind: Enum, Enum: []string{"0", "1", "2"}, Group: groupLoad,
		Values: map[string]string{"false": "0", "no": "0", "off": "0", "true": "1", "yes": "1", "on": "1"},
		Usage: "LoadGen joins Server queries that are due together: 0 or false, 1 or true; 2 is another 1, as LoadGen " +
			"reads its key coalesce_queries"},
}

var limitSettings = []Setting{
	{Name: "first-token-timeout", Kind: Duration, Range: Range{Positive: true}, Group: groupLimits,
		Usage: "longest wait from the request to the first token"},
	{Name: "token-timeout", Kind: Duration, Range: Range{Positive: true}, Group: groupLimits,
		Usage: "longest wait between tokens of a stream"},
	{Name: "request-timeout", Kind: Duration, Range: Range{Positive: true}, Group: groupLimits,
		Usage: "longest time of one request"},
	{Name: "connect-timeout", Kind: Duration, Range: Range{Positive: true}, Group: groupLimits,
		Usage: "longest time to open a connection"},
	{Name: "endpoint-timeout", Kind: Duration, Range: Range{Positive: true}, Group: groupLimits, Default: "30s",
		Usage: "longest wait for an endpoint to return once all of them were left out after failures"},
	{Name: "drain-timeout", Kind: Duration, Range: Range{Positive: true}, Group: groupLimits,
		Usage: "longest time in which no answer ends and no query comes, while answers are outstanding; default: one " +
			"minute more than the longer of --request-timeout and --endpoint-timeout"},
	{Name: "max-errors", Kind: Int, Group: groupLimits,
		Usage: "end the run as INVALID after more than N failed samples; default: run to the end"},
	{Name: "fail-fast", Kind: Bool, Group: groupLimits, Default: "false",
		Usage: "end the run at the first failed sample, and a Server run once more queries are over a limit than LoadGen's " +
			"early-stopping criterion can bear"},
}

var requestSettings = []Setting{
	{Name: "concurrency", Kind: Int, Group: groupRequest, Aliases: old("offline-async-concurrency"),
		Usage: "requests in flight in Offline; 0: no limit"},
	{Name: "offline-strategy", Kind: Enum, Enum: []string{"window", "all", "batch", "serial"}, Group: groupRequest,
		Default: "window",
		Aliases: []Alias{{Name: "offline-back-to-back", Value: "window",
			Notice: "--offline-back-to-back is now --offline-strategy window, the default: every sample is a request of its " +
				"own, --concurrency of them in flight"}},
		Usage: "how Offline sends its samples: window keeps --concurrency requests in flight, all sends everything at " +
			"once, batch puts --batch-size prompts in one request, serial has one request in flight at each endpoint"},
	{Name: "batch-size", Kind: Int, Range: Range{Positive: true}, Group: groupRequest,
		Usage: "prompts in one request of --offline-strategy batch; default 64"},
	{Name: "stream", Kind: Bool, Group: groupRequest, Default: "false",
		Usage: "stream the answers where the scenario needs no first tokens too: an Offline test, so that its record has " +
			"times of first tokens"},
	{Name: "retries", Kind: Int, Group: groupRequest, Aliases: old("max-retries-per-server"), Default: "0",
		Usage: "further attempts on a fresh connection after a failure before the first byte"},
	{Name: "max-tokens", Kind: Int, Range: Range{Positive: true}, Group: groupRequest,
		Usage: "largest number of output tokens; default from the model"},
	{Name: "min-tokens", Kind: Int, Group: groupRequest,
		Usage: "smallest number of output tokens; default from the model"},
	{Name: "temperature", Kind: Float, Group: groupRequest, Usage: "sampling temperature; default from the model"},
	{Name: "top-p", Kind: Float, Range: Range{Positive: true, Max: 1}, Group: groupRequest,
		Usage: "nucleus sampling; default from the model"},
	{Name: "top-k", Kind: Int, Range: Range{Negative: true}, Group: groupRequest,
		Usage: "candidates per token, 0 or -1 for all; default from the model"},
	{Name: "seed", Kind: Int, Group: groupRequest, Usage: "seed of the server's sampling; default from the model"},
	{Name: "generation-config", Kind: String, Group: groupRequest,
		Usage: "JSON file of max_new_tokens, temperature, top_k, top_p and so on, for what no setting names"},
	{Name: "accuracy-max-tokens", Kind: Int, Range: Range{Positive: true}, Group: groupRequest,
		Usage: "max-tokens in an accuracy test"},
	{Name: "accuracy-min-tokens", Kind: Int, Group: groupRequest, Usage: "min-tokens in an accuracy test"},
	{Name: "accuracy-temperature", Kind: Float, Group: groupRequest, Usage: "temperature in an accuracy test"},
	{Name: "accuracy-top-p", Kind: Float, Range: Range{Positive: true, Max: 1}, Group: groupRequest,
		Usage: "top-p in an accuracy test"},
	{Name: "accuracy-top-k", Kind: Int, Range: Range{Negative: true}, Group: groupRequest,
		Usage: "top-k in an accuracy test"},
	{Name: "accuracy-seed", Kind: Int, Group: groupRequest, Usage: "seed in an accuracy test"},
	{Name: "response-format", Kind: String, Group: groupRequest, Default: "text",
		Aliases: []Alias{{Name: "use-guided-decoding", Value: "benchmark"}},
		Usage: "form of the answers: text, json_object, benchmark (the schema that the benchmark has), or the file of a " +
			"JSON schema; asked for in the words of the server's version"},
	{Name: "warmup", Kind: Bool, Group: groupRequest, Aliases: []Alias{{Name: "no-warmup", Value: "false"}},
		Default: "false",
		Usage:   "send untimed requests before the test"},
	{Name: "preflight-query", Kind: Bool, Group: groupRequest, Default: "true",
		Aliases: []Alias{{Name: "no-preflight-query", Value: "false"}},
		Usage:   "ask each endpoint for one short answer before the test; without it only GET probes are sent"},
}

var clientSettings = []Setting{
	{Name: "shards", Kind: Int, Range: Range{Positive: true, Max: 64}, Group: groupClient, Default: "1",
		Usage: "event loops, each with a thread, a ring and connections of its own; one carries 100,000 requests per " +
			"second and more"},
	{Name: "coalesce-wakeups", Kind: Duration, Range: Range{Max: float64(time.Millisecond)}, Group: groupClient,
		Default: "50us",
		Usage: "pause that lets tokens of several streams come together, made only while they wake the client more often " +
			"than that; recorded; 0: never"},
	{Name: "pin-loop", Kind: String, Group: groupClient, Default: "off",
		Usage: "processors of the event loops: off, auto (the last ones where there are four or more), or one number per " +
			"shard with commas"},
}

var outputSettings = []Setting{
	{Name: "output-dir", Kind: String, Group: groupOutput,
		Usage: "folder of the run; must be new or empty unless --resume or --force"},
	{Name: "resume", Kind: Bool, Group: groupOutput, Default: "false",
		Usage: "go on in a folder that was used: what is done and valid is skipped"},
	{Name: "force", Kind: Bool, Group: groupOutput, Default: "false",
		Usage: "replace an earlier run in the output folder"},
	{Name: "shared-output", Kind: Bool, Group: groupOutput, Default: "false",
		Usage: "let other users of this machine read the output folder; else it is this user's alone (0700, files 0600)"},
	{Name: "request-log", Kind: Bool, Group: groupOutput, Default: "true",
		Aliases: []Alias{{Name: "no-request-log", Value: "false"}},
		Usage:   "write one line per sample to the request log"},
}

// oldSettings are flags of the harness before this one that have no counterpart (docs/how-to/migration.md).
var oldSettings = []Setting{
	{Name: "model-category", Kind: String, Hidden: true, Group: groupOld,
		Notice: "--model-category is now --model; a --model beside it is now --served-model",
		Usage:  "old name of --model"},
	{Name: "num-workers", Kind: Int, Hidden: true, Ignored: true, Group: groupOld,
		Notice: "--num-workers is ignored: one loop per shard carries any number of requests", Usage: "ignored"},
	{Name: "server-max-concurrent-queries", Kind: Int, Hidden: true, Ignored: true, Group: groupOld,
		Notice: "--server-max-concurrent-queries is ignored: a Server test must not hold queries back", Usage: "ignored"},
	{Name: "mlperf-conf", Kind: String, Hidden: true, Ignored: true, Group: groupOld,
		Notice: "--mlperf-conf is ignored: the linked LoadGen carries the official one", Usage: "ignored"},
}
