package catalog

import (
	"slices"
	"strings"
)

// PublicSet is a public data set that profiles name. This program contains no data and downloads none.
type PublicSet struct {
	Name    string   `json:"name"`
	From    string   `json:"from"`
	URL     string   `json:"url"`
	Licence string   `json:"licence"`           // as the publisher states it
	Fetch   []string `json:"fetch"`             // lines of a shell that download it
	Prepare []string `json:"prepare,omitempty"` // lines of a shell that make the profile's file of the download
	File    string   `json:"file"`              // what the profile names
	Profile []string `json:"profile"`           // lines of a profile, with @ for File
	Run     string   `json:"run,omitempty"`     // a predefined profile that reads it
	Note    string   `json:"note,omitempty"`
}

const (
	hub      = "https://huggingface.co/datasets/"
	azureRaw = "https://raw.githubusercontent.com/Azure/AzurePublicDataset/master/data/AzureLLMInferenceTrace_conv.csv"
	burstRaw = "https://github.com/HPMLL/BurstGPT/releases/download/v1.1/BurstGPT_without_fails_1.csv"
	moonRaw  = "https://raw.githubusercontent.com/kvcache-ai/Mooncake/main/FAST25-release/traces/conversation_trace.jsonl"
	verses   = "https://raw.githubusercontent.com/vllm-project/vllm/v0.10.0/benchmarks/sonnet.txt"
	download = "hf download --repo-type dataset "
	asJSON   = "mlperf-go dataset convert "
)

// traced returns the lines of a profile that replays a trace: its times and its lengths.
func traced(format string) []string {
	return []string{"data: {kind: trace, trace: {format: " + format + ", path: @}}",
		"load: {trace: {format: " + format + ", path: @}, stages: [{arrival: trace}]}"}
}

// asked returns the lines of a profile that sends the rows of a file.
func asked(data string) []string {
	return []string{"data: {" + data + ", path: @}", "load: {stages: [{arrival: poisson, rate: 2, duration: 60s}]}"}
}

// Sources of the facts: the pages that URL names, as of November 2026, and the commands of vllm's and inference-perf's
// documentation.
var publicSets = []PublicSet{
	{"sharegpt", "conversations of users with ChatGPT", hub + "anon8231489123/ShareGPT_Vicuna_unfiltered",
		"on the data set's page", []string{download + "anon8231489123/ShareGPT_Vicuna_unfiltered " +
			"ShareGPT_V3_unfiltered_cleaned_split.json --local-dir ."}, nil,
		"ShareGPT_V3_unfiltered_cleaned_split.json", asked("kind: sharegpt"), "-l inference-perf -w chatbot_sharegpt", ""},
	{"azure", "Azure's traces of LLM inference: conversations, 2023", "https://github.com/Azure/AzurePublicDataset",
		"CC-BY-4.0", []string{"curl -LO " + azureRaw}, nil, "AzureLLMInferenceTrace_conv.csv", traced("azure"), "",
		"AzureLLMInferenceTrace_code.csv beside it has requests of code completion, in the same form."},
	{"mooncake", "Mooncake's traces of conversations, with prefix blocks", "https://github.com/kvcache-ai/Mooncake",
		"Apache-2.0", []string{"curl -LO " + moonRaw}, nil, "conversation_trace.jsonl", traced("mooncake"),
		"-l aiperf -w dataset", "toolagent_trace.jsonl and synthetic_trace.jsonl beside it have the same form."},
	{"burstgpt", "BurstGPT's trace of requests to GPT models", "https://github.com/HPMLL/BurstGPT",
		"on the repository's page", []string{"curl -LO " + burstRaw}, nil, "BurstGPT_without_fails_1.csv",
		traced("burstgpt"), "",
		"The trace lasts two months; set scale in load.trace, such as scale: 0.001."},
	{"sonnet", "verses, of which vllm's data set sonnet is drawn", "https://github.com/vllm-project/vllm", "Apache-2.0",
		[]string{"curl -LO " + verses}, nil, "sonnet.txt", asked("kind: prompts, format: sonnet, input: 550, output: 150"),
		"-l vllm-benchmark -w sonnet_concurrent", ""},
	{"billsum", "bills of the US Congress and their summaries", hub + "FiscalNote/billsum", "CC0-1.0",
		[]string{download + "FiscalNote/billsum data/test-00000-of-00001.parquet --local-dir ."},
		[]string{asJSON + "data/test-00000-of-00001.parquet billsum.jsonl --model generic --input-column text " +
			"--output-column summary"}, "billsum.jsonl", asked("kind: prompts, format: billsum"), "", ""},
	{"cnn_dailymail", "news articles and their highlights", hub + "abisee/cnn_dailymail",
		"Apache-2.0; the articles are third parties'",
		[]string{download + "abisee/cnn_dailymail 3.0.0/test-00000-of-00001.parquet --local-dir ."},
		[]string{asJSON + "3.0.0/test-00000-of-00001.parquet cnn.jsonl --model generic --input-column article " +
			"--output-column highlights"}, "cnn.jsonl", asked("kind: prompts, format: cnn_dailymail"), "", ""},
	{"infinity_instruct", "instructions and answers", hub + "BAAI/Infinity-Instruct", "CC-BY-SA-4.0",
		[]string{download + "BAAI/Infinity-Instruct --include '0625/*' --local-dir infinity"}, nil, "infinity.jsonl",
		asked("kind: prompts, format: infinity_instruct"), "", "The publisher asks for an account. Save the rows as JSON " +
			"Lines with instruction and output, or with conversations, as infinity.jsonl."},
	{"weka", "recorded sessions of a coding agent with subagents",
		hub + "semianalysisai/cc-traces-weka-with-subagents-051926", "on the data set's page",
		[]string{download + "semianalysisai/cc-traces-weka-with-subagents-051926 --local-dir cc-traces-weka"}, nil,
		"cc-traces-weka", []string{"data: {kind: recorded, format: weka, path: @, sessions: {idle_gap_cap: 1}}",
			"load: {stages: [{arrival: sessions, concurrency: 4}]}"}, "-l inference-perf -w weka_traces",
		"The folder's .json and .jsonl files are read, one object for each session."},
	{"agent-llm-traces", "recorded sessions of agents, as spans of OpenTelemetry", hub + "Exgentic/agent-llm-traces-v2",
		"on the data set's page", []string{download + "Exgentic/agent-llm-traces-v2 --local-dir agent-llm-traces-v2"}, nil,
		"agent-llm-traces-v2", []string{"data: {kind: recorded, format: otel, path: @, sessions: {max_wait: 15}}",
			"load: {stages: [{arrival: sessions, concurrency: 4}]}"}, "-l inference-perf -w agent_llm_traces_v2",
		"The publisher's files are Parquet. Save each session as one JSON object in .json or .jsonl files of the " +
			"folder."},
}

// PublicSets returns the public data sets.
func PublicSets() []PublicSet { return slices.Clone(publicSets) }

// FindPublicSet returns the data set with a name. Case, and the difference between - and _, do not matter.
func FindPublicSet(name string) (PublicSet, bool) {
	for _, s := range publicSets {
		if fold(s.Name) == fold(name) {
			return s, true
		}
	}
	return PublicSet{}, false
}

// Lines returns the lines of a profile that read the data set.
func (s *PublicSet) Lines() []string {
	lines := make([]string, len(s.Profile))
	for i, l := range s.Profile {
		lines[i] = strings.ReplaceAll(l, "@", s.File)
	}
	return lines
}
