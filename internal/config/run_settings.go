package config

import (
	"slices"
	"sync"
	"time"
)

// positive accepts numbers above 0.
var positive = Range{Positive: true}

// percentile is the range of percentiles that LoadGen can judge (docs/reference/loadgen.md#traps).
var percentile = Range{Positive: true, Max: 99.999}

const oldGroup = "Old names"

// settingGroups lists the settings by the headings of the help text.
var settingGroups = []struct {
	heading  string
	settings []Setting
}{
	{"Test", testSettings},
	{"Server", serverSettings},
	{"Local servers", localServerSettings},
	{"Data set", dataSettings},
	{"Load (written to the generated user.conf)", loadSettings},
	{"Limits and deadlines", limitSettings},
	{"Requests", requestSettings},
	{"Client", clientSettings},
	{"Output", outputSettings},
	{oldGroup, oldSettings},
}

// RunSettings returns the table of all settings of a run, which the caller may change.
func RunSettings() Table { return slices.Clone(runSettings()) }

var runSettings = sync.OnceValue(func() Table {
	var t Table
	for _, group := range settingGroups {
		for _, s := range group.settings {
			s.Group = group.heading
			t = append(t, s)
		}
	}
	return withOldNames(t)
})

var testSettings = []Setting{
	{Name: "model", Kind: String,
		Usage: "benchmark to run: name, alias or Hugging Face id; run mlperf-go models to list them"},
	{Name: "scenario", Kind: Enum, Enum: []string{"Offline", "Server", "Interactive", "SingleStream"},
		Default: "Offline",
		Values:  map[string]string{"single-stream": "SingleStream"},
		Usage:   "how LoadGen issues the samples"},
	{Name: "mode", Kind: Enum, Enum: []string{"performance", "accuracy", "submission", "find-peak"},
		Default: "performance",
		Usage:   "what to measure; submission runs performance, then accuracy; find-peak is only for mlperf-go tune"},
	{Name: "round", Kind: String,
		Usage: "MLPerf round whose rules apply, such as v6.0: seeds, limits, counts and targets; default: the newest " +
			"round that has the benchmark"},
	{Name: "rehearsal", Kind: Bool, Default: "false",
		Usage: "make the test a rehearsal: 512 rows and short, unless set otherwise; it cannot be submitted"},
	{Name: "user-conf", Kind: String,
		Usage: "user.conf with settings of this run; LoadGen does not read it, but the user.conf that the run writes"},
	{Name: "audit-config", Kind: String,
		Usage: "LoadGen's audit.config of the compliance test that this run is for; makes the run an audit"},
	{Name: "lg-model-name", Kind: String,
		Usage: "LoadGen model key to use instead of the benchmark's"},
	{Name: "seed-override", Kind: Strings,
		Usage: "three LoadGen seeds (qsl,sample-index,schedule) to use instead of the round's; the run becomes a " +
			"rehearsal"},
	{Name: "network-sut", Kind: Bool, Default: "false",
		Usage: "the servers are reached over a network, as in the network division; LoadGen's log then names the system " +
			"a Network SUT"},
	{Name: "score", Kind: Bool, Default: "true", Aliases: []Alias{{Name: "no-score", Value: "false"}},
		Usage: "score the answers at the end of an accuracy test; a score below target makes the run INVALID"},
	{Name: "tokenizer", Kind: String,
		Usage: "tokenizer that decodes the answers: a tokenizer.json or tokenizer.model file, its folder, or the name of " +
			"a model (ORG/MODEL) in the Hugging Face cache"},
	{Name: "tokenizer-revision", Kind: String,
		Usage: "branch or commit of the tokenizer's model in the Hugging Face cache or hub; default: main"},
	{Name: "fetch-tokenizer", Kind: Bool, Default: "false",
		Usage: "download the tokenizer if it is not found locally"},
	{Name: "run-code", Kind: Bool, Default: "false",
		Usage: "run the programs in the answers in a sandbox; if off, they are not scored and no total is reported; " +
			"default in rehearsals: on"},
	{Name: "code-tests", Kind: String,
		Usage: "LiveCodeBench tests: a JSONL file or a folder of such files"},
	{Name: "code-service", Kind: String,
		Usage: "WebSocket address (ws://...) of a service that runs the LiveCodeBench programs instead of the sandbox"},
	{Name: "math-grader", Kind: String,
		Usage: "command that decides whether two mathematical expressions are equal, instead of the built-in comparison"},
	{Name: "sim-quality", Kind: Float, Range: Range{Max: 1}, Default: "1",
		Usage: "fraction of correct answers from the simulator that a rehearsal starts, 0 to 1"},
	{Name: "profile-window", Kind: String,
		Usage: "START,COUNT: start and stop the servers' profilers around exactly these queries; the run becomes a " +
			"rehearsal"},
	{Name: "profile-dir", Kind: String,
		Usage: "folder at the servers for the profile of --profile-window (SGLang; vLLM has it in its configuration)"},
	{Name: "profile-start", Kind: String,
		Usage: "shell command that starts the profiler of --profile-window, such as nsys start, instead of the servers' " +
			"routes"},
	{Name: "profile-stop", Kind: String, Usage: "shell command that stops it"},
	{Name: "enable-trace", Kind: Bool, Default: "false", Usage: "let LoadGen write its trace file"},
}

var serverSettings = []Setting{
	{Name: "endpoint", Kind: Strings,
		Usage: "base URLs of the inference servers; repeat the flag or separate them with commas"},
	{Name: "backend", Kind: String, Auto: true, Default: Auto,
		Usage: "kind of server; auto detects it"},
	{Name: "api", Kind: Enum, Enum: []string{"completions", "chat", "generate"},
		Usage: "HTTP interface of the server; default: chosen by model and backend"},
	{Name: "served-model", Kind: String,
		Usage: "model name to send in requests; checked against the server's model list"},
	{Name: "api-key", Kind: String, Secret: true,
		Usage: "bearer token for the endpoints; safer in the environment or in --api-key-file"},
	{Name: "api-key-file", Kind: String, Usage: "file whose first line is the bearer token"},
	{Name: "ca-file", Kind: String,
		Usage: "PEM file of certificate authorities to trust for the endpoints"},
	{Name: "client-cert", Kind: String,
		Usage: "PEM file of the certificate that identifies this client to https endpoints that require one"},
	{Name: "client-key", Kind: String,
		Usage: "PEM file of the private key of --client-cert; default: the key is in the certificate's file"},
	{Name: "proxy", Kind: String,
		Usage: "HTTP proxy for the endpoints, http(s)://host:port; proxy variables of the environment are ignored, and " +
			"time spent in the proxy counts as latency"},
	{Name: "http2", Kind: Bool, Default: "false",
		Usage: "use HTTP/2 for https endpoints that offer it, through a client that costs several times the processor time"},
	{Name: "reset-cache", Kind: Enum, Enum: []string{"auto", "off", "require"}, Default: "auto",
		Usage: "empty the servers' prefix caches before the timed phase: auto (if supported), require (fail if not " +
			"supported) or off"},
	{Name: "traceparent", Kind: Bool, Default: "false",
		Usage: "send a W3C traceparent with each request, so that the traces of servers name the request and the sample"},
	{Name: "insecure-skip-verify", Kind: Bool, Default: "false",
		Usage: "do not verify the endpoints' certificates"},
	{Name: "lb", Kind: Enum, Enum: []string{"round-robin", "random", "least-inflight", "hash"},
		Default: "round-robin",
		Usage:   "how to spread samples over several endpoints"},
	{Name: "lb-key", Kind: Enum, Enum: []string{"index", "prefix", "session"}, Default: "index",
		Usage: "what --lb hash hashes: the sample index, the start of its prompt (--lb-prefix-tokens) or its session " +
			"(--session-column)"},
	{Name: "lb-prefix-tokens", Kind: Int, Range: positive, Default: "128",
		Usage: "number of prompt tokens that --lb-key prefix hashes; without token ids, four bytes per token"},
}

// localServerSettings describe the servers that the run starts; package servers reads them.
var localServerSettings = []Setting{
	{Name: "server-config", Kind: String,
		Usage: "YAML file of the servers to start; with --endpoint, only backend, model, API and limits are read from it"},
	{Name: "server-dir", Kind: String,
		Usage: "folder for logs and state of started servers; default: output_dir of --server-config; with --endpoint: " +
			"the folder of the running servers, for the record"},
	{Name: "model-path", Kind: String,
		Usage: "folder of the model to serve; takes precedence over --server-config"},
	{Name: "replicas", Kind: Int, Range: positive,
		Usage: "number of servers to start, each on its own port; default: from --server-config, else 1"},
	{Name: "gpus-per-replica", Kind: Int,
		Usage: "GPUs per server; default: from --server-config, else what the engine's arguments require"},
	{Name: "python", Kind: String,
		Usage: "Python interpreter or virtual environment of the servers; default: binary_path in --server-config, else " +
			"python3"},
}

var dataSettings = []Setting{
	{Name: "dataset", Kind: String,
		Usage: "data set file; without it the run uses a synthetic data set and is a rehearsal"},
	{Name: "samples", Kind: Int, Range: positive,
		Usage: "use only the first N rows, as total and as performance sample count; fewer than the benchmark requires " +
			"makes the run a rehearsal"},
	{Name: "dataset-config", Kind: String,
		Usage: "YAML file that describes the data set: columns, format, rows, file and model; flags take precedence"},
	{Name: "input-column", Kind: String, Usage: "column of the prompt texts"},
	{Name: "input-ids-column", Kind: String, Usage: "column of the prompts as token ids"},
	{Name: "output-column", Kind: String, Usage: "column of the reference outputs"},
	{Name: "session-column", Kind: String,
		Usage: "column that groups rows into sessions, such as the turns of a conversation, for --lb-key session"},
	{Name: "dataset-format", Kind: Enum, Enum: []string{"auto", "json", "csv", "parquet", "npy", "pickle"},
		Usage: "format of the data set file; default: detected from its content"},
	{Name: "prompt-template", Kind: String,
		Usage: "text file that builds each prompt from the fields of a row, such as {input}"},
	{Name: "lengths", Kind: String,
		Usage: ".npy file of prompt lengths, for a data set in a .npy file"},
	{Name: "pad-side", Kind: Enum, Enum: []string{"right", "left"},
		Usage: "side of the padding in a .npy table; default: right"},
	{Name: "pad-id", Kind: Int,
		Usage: "token id of the padding in a .npy table; default: the first padding id found"},
	{Name: "request-memory", Kind: Bytes, Range: positive, Default: "2GiB",
		Usage: "memory limit for prepared request bodies; the rest goes to a memory-mapped scratch file (bytes, or with " +
			"KiB, MiB, GiB)"},
}

var loadSettings = []Setting{
	{Name: "target-qps", Kind: Float, Range: positive,
		Usage: "queries per second (Server, Interactive) or expected samples per second (Offline)"},
	{Name: "expected-latency", Kind: Duration, Range: positive,
		Usage: "expected latency of one answer in SingleStream; default: median of three preflight answers"},
	{Name: "min-duration", Kind: Duration,
		Usage: "minimum duration of the test; less than the rules require makes the run a rehearsal"},
	{Name: "max-duration", Kind: Duration,
		Usage: "maximum duration of the test, 0 for no limit; a Server run that ends this way is INVALID"},
	{Name: "min-queries", Kind: Int, Usage: "minimum number of queries (Offline: samples)"},
	{Name: "max-queries", Kind: Int,
		Usage: "maximum number of queries, 0 for no limit; a Server run that ends this way is INVALID"},
	{Name: "ttft-limit", Kind: Duration, Range: positive,
		Usage: "limit on the p99 time to first token (TTFT)"},
	{Name: "tpot-limit", Kind: Duration, Range: positive,
		Usage: "limit on the p99 time per output token (TPOT)"},
	{Name: "latency-percentile", Kind: Float, Range: percentile,
		Usage: "percentile that LoadGen judges (Server, Interactive, SingleStream); any other than the benchmark's makes " +
			"the run a rehearsal"},
	{Name: "server-coalesce-queries", Kind: Enum, Enum: []string{"0", "1", "2"},
		Values: map[string]string{"false": "0", "no": "0", "off": "0", "true": "1", "yes": "1", "on": "1"},
		Usage:  "merge Server queries that are due at the same time: 0 or false, 1 or true; LoadGen treats 2 like 1"},
}

var limitSettings = []Setting{
	{Name: "first-token-timeout", Kind: Duration, Range: positive,
		Usage: "maximum time from the request to the first token"},
	{Name: "token-timeout", Kind: Duration, Range: positive,
		Usage: "maximum time between two tokens of a stream"},
	{Name: "request-timeout", Kind: Duration, Range: positive,
		Usage: "maximum time for one request"},
	{Name: "connect-timeout", Kind: Duration, Range: positive,
		Usage: "maximum time to open a connection"},
	{Name: "endpoint-timeout", Kind: Duration, Range: positive, Default: "30s",
		Usage: "maximum time to wait for an endpoint to recover when all of them are excluded after failures"},
	{Name: "drain-timeout", Kind: Duration, Range: positive,
		Usage: "maximum time without a completed answer or a new query while answers are outstanding; default: one " +
			"minute more than the longer of --request-timeout and --endpoint-timeout"},
	{Name: "max-errors", Kind: Int,
		Usage: "end the run as INVALID after more than N failed samples; default: run to the end"},
	{Name: "fail-fast", Kind: Bool, Default: "false",
		Usage: "end the run at the first failed sample; a Server run also once LoadGen's early-stopping criterion " +
			"can no longer be met"},
}

var requestSettings = []Setting{
	{Name: "concurrency", Kind: Int,
		Usage: "requests in flight in Offline; 0 for no limit"},
	{Name: "offline-strategy", Kind: Enum, Enum: []string{"window", "all", "batch", "serial"},
		Default: "window",
		Usage: "Offline requests: window (--concurrency in flight), all at once, batch (--batch-size prompts each) " +
			"or serial (one in flight per endpoint)"},
	{Name: "batch-size", Kind: Int, Range: positive,
		Usage: "prompts per request with --offline-strategy batch; default: 64"},
	{Name: "stream", Kind: Bool, Default: "false",
		Usage: "stream the answers even if the scenario does not require it, so that an Offline run records times to " +
			"first token"},
	{Name: "retries", Kind: Int, Default: "0",
		Usage: "further attempts, each on a new connection, if a request fails before the first byte"},
	{Name: "max-tokens", Kind: Int, Range: positive,
		Usage: "maximum number of output tokens; default: from the benchmark"},
	{Name: "min-tokens", Kind: Int,
		Usage: "minimum number of output tokens; default: from the benchmark"},
	{Name: "temperature", Kind: Float,
		Usage: "sampling temperature; default: from the benchmark"},
	{Name: "top-p", Kind: Float, Range: Range{Positive: true, Max: 1},
		Usage: "nucleus sampling threshold; default: from the benchmark"},
	{Name: "top-k", Kind: Int, Range: Range{Negative: true},
		Usage: "candidates per token, 0 or -1 for all; default: from the benchmark"},
	{Name: "seed", Kind: Int,
		Usage: "seed of the server's sampling; default: from the benchmark"},
	{Name: "generation-config", Kind: String,
		Usage: "JSON file with max_new_tokens, temperature, top_k, top_p and other sampling parameters; flags take " +
			"precedence"},
	{Name: "accuracy-max-tokens", Kind: Int, Range: positive,
		Usage: "--max-tokens for accuracy tests only"},
	{Name: "accuracy-min-tokens", Kind: Int, Usage: "--min-tokens for accuracy tests only"},
	{Name: "accuracy-temperature", Kind: Float, Usage: "--temperature for accuracy tests only"},
	{Name: "accuracy-top-p", Kind: Float, Range: Range{Positive: true, Max: 1},
		Usage: "--top-p for accuracy tests only"},
	{Name: "accuracy-top-k", Kind: Int, Range: Range{Negative: true},
		Usage: "--top-k for accuracy tests only"},
	{Name: "accuracy-seed", Kind: Int, Usage: "--seed for accuracy tests only"},
	{Name: "response-format", Kind: String, Default: "text",
		Usage: "required form of the answers: text, json_object, benchmark (the benchmark's JSON schema) or a JSON " +
			"schema file"},
	{Name: "warmup", Kind: Bool, Aliases: []Alias{{Name: "no-warmup", Value: "false"}},
		Default: "false",
		Usage:   "send untimed requests before the test"},
	{Name: "preflight-query", Kind: Bool, Default: "true",
		Aliases: []Alias{{Name: "no-preflight-query", Value: "false"}},
		Usage:   "ask each endpoint for one short answer before the test; if off, only GET probes are sent"},
}

var clientSettings = []Setting{
	{Name: "shards", Kind: Int, Range: Range{Positive: true, Max: 64}, Default: "1",
		Usage: "event loops, each with its own thread, ring and connections; one handles more than 100,000 requests per " +
			"second"},
	{Name: "coalesce-wakeups", Kind: Duration, Range: Range{Max: float64(time.Millisecond)},
		Default: "50us",
		Usage: "pause that lets tokens of several streams arrive together; used only while tokens wake the client more " +
			"often than this, and recorded; 0 for never"},
	{Name: "pin-loop", Kind: String, Default: "off",
		Usage: "processors to pin the event loops to: off, auto (the last of four or more) or one number per shard, " +
			"separated by commas"},
}

var outputSettings = []Setting{
	{Name: "output-dir", Kind: String,
		Usage: "folder of the run; must hold no other result unless --resume or --force is given; default: a new one in " +
			"results/MODEL-SCENARIO-MODE, beside the link latest"},
	{Name: "resume", Kind: Bool, Default: "false",
		Usage: "continue in a used folder (default: the latest) and skip what is complete and valid"},
	{Name: "force", Kind: Bool, Default: "false",
		Usage: "replace an earlier run in the output folder"},
	{Name: "shared-output", Kind: Bool, Default: "false",
		Usage: "let other users of this machine read the output folder; default: only this user can (folders 0700, files " +
			"0600)"},
	{Name: "request-log", Kind: Bool, Default: "true",
		Aliases: []Alias{{Name: "no-request-log", Value: "false"}},
		Usage:   "write one line per sample to the request log"},
	{Name: "trace-spans", Kind: String,
		Usage: "file for the spans of each request, which ui.perfetto.dev and chrome://tracing open; a name in .gz is " +
			"compressed"},
	{Name: "percentiles", Kind: String,
		Usage: "percentiles of the latencies in the summary and in run.json, such as 50,90,99.9"},
	{Name: "metrics", Kind: Bool, Default: "false",
		Usage: "record the servers' metrics pages during the test (queue, cache, tokens), into metrics/"},
	{Name: "metrics-interval", Kind: Duration, Range: Range{Positive: true}, Default: "1s",
		Usage: "time between two readings of a metrics page"},
	{Name: "metrics-url", Kind: Strings,
		Usage: "further metrics pages to record, such as a gateway's or a GPU exporter's; implies --metrics"},
	{Name: "serve-metrics", Kind: String, Bare: "127.0.0.1:0",
		Usage: "serve this program's own counters at http://host:port/metrics for Prometheus, and print the URL; without a " +
			"value on a free port of loopback"},
	{Name: "live", Kind: String, Bare: "127.0.0.1:0",
		Usage: "serve a page with live charts at this host:port or unix:PATH, and print its URL; without a value on a free " +
			"port of loopback"},
	{Name: "live-control", Kind: Bool, Default: "false",
		Usage: "let viewers who have the token in the printed URL stop the command from the page of --live"},
}
