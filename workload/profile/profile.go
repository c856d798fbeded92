package profile

import "time"

// Schema is the value of a profile's schema key.
const Schema = "mlperf-go/profile/1"

// Profile is one workload. Counts of tokens are the tokenizer's of the served model.
type Profile struct {
	Schema      string  `yaml:"schema" one:"mlperf-go/profile/1" need:"yes" doc:"form of this file"`
	Name        string  `yaml:"name,omitempty" doc:"short name, for reports"`
	Description string  `yaml:"description,omitempty" doc:"one sentence, for people"`
	UseCase     string  `yaml:"use_case,omitempty" doc:"row of the use-case table (mlperf-go bench list)"`
	Seed        uint64  `yaml:"seed" doc:"of arrival times, lengths and prompts; equal seeds give equal requests"`
	API         API     `yaml:"api" doc:"how requests are sent"`
	Data        Data    `yaml:"data" need:"yes" doc:"which prompts are sent"`
	Load        Load    `yaml:"load" need:"yes" doc:"when they are sent"`
	SLO         SLO     `yaml:"slo,omitempty" doc:"which requests count as good; a limit of 0 is no limit"`
	Export      *Export `yaml:"export,omitempty" doc:"what bench convert writes in the forms of other clients"`
	Upload      *Upload `yaml:"upload,omitempty" doc:"where --upload profile sends the results"`
	Source      *Source `yaml:"source,omitempty" doc:"the file of another tool that this was translated from"`
}

// API defines how requests are sent.
type API struct {
	Kind      string            `yaml:"kind" one:"completions chat responses embeddings rerank messages" doc:"route"`
	Stream    bool              `yaml:"stream" doc:"ask for one event per token"`
	Endpoint  string            `yaml:"endpoint,omitempty" doc:"base URL of the server; --endpoint-url takes precedence"`
	Model     string            `yaml:"model,omitempty" doc:"name in requests; empty: the first one the server lists"`
	Tokenizer string            `yaml:"tokenizer,omitempty" doc:"folder or file of tokenizer.json; empty: the model's"`
	IgnoreEOS bool              `yaml:"ignore_eos" doc:"make every answer as long as its limit"`
	Headers   map[string]string `yaml:"headers,omitempty" doc:"HTTP fields of every request"`
	Extra     map[string]any    `yaml:"extra,omitempty" doc:"members of every request's JSON body, such as temperature"`
	Adapters  []Adapter         `yaml:"adapters,omitempty" doc:"LoRA adapters and the share of requests of each"`
	Classes   []Class           `yaml:"classes,omitempty" doc:"of priority, and the share of requests of each"`
	// SessionHeader carries the session of a request, for routers that pin sessions.
	SessionHeader  string        `yaml:"session_header,omitempty" doc:"HTTP field with the id of a request's session"`
	RequestTimeout time.Duration `yaml:"request_timeout,omitempty" doc:"for a whole answer; 0: the program's default"`
}

// Generates reports whether answers consist of tokens. Embeddings and rankings do not.
func (a *API) Generates() bool { return a.Kind != "embeddings" && a.Kind != "rerank" }

// NamesModels reports whether requests may name other models than the run's: adapters, or those of recorded calls.
func (p *Profile) NamesModels() bool { return len(p.API.Adapters) > 0 || p.Data.Kind == Recorded }

// IsChat reports whether requests consist of messages.
func (a *API) IsChat() bool { return a.Kind == "chat" || a.Kind == "messages" || a.Kind == "responses" }

// Adapter is a served model variant.
type Adapter struct {
	Name  string  `yaml:"name" need:"yes" doc:"model name in the request"`
	Share float64 `yaml:"share" is:"0..1" doc:"of all requests; the shares add up to 1"`
}

// Class is a class of requests with a priority.
type Class struct {
	Name     string  `yaml:"name" need:"yes" doc:"for reports"`
	Share    float64 `yaml:"share" is:"0..1" doc:"of all requests; the shares add up to 1"`
	Priority int     `yaml:"priority" doc:"member of the requests' JSON body"`
}

// SLO is the limits of a good request. The limit of a metric is on that request's own figure.
type SLO struct {
	TTFT  time.Duration `yaml:"ttft,omitempty" doc:"time to first token"`
	TPOT  time.Duration `yaml:"tpot,omitempty" doc:"time per output token after the first"`
	ITL   time.Duration `yaml:"itl,omitempty" doc:"longest gap between two tokens"`
	NTPOT time.Duration `yaml:"ntpot,omitempty" doc:"latency per output token"`
	E2E   time.Duration `yaml:"e2e,omitempty" doc:"whole request"`
}

// Export selects what bench convert writes in the forms of other clients.
type Export struct {
	Percentiles   []float64     `yaml:"percentiles,omitempty" is:"0..100" doc:"of vllm, inference-perf; empty: as usual"`
	Metrics       ExportMetrics `yaml:"metrics,omitempty" doc:"with statistics in the file of vllm; empty: the first four"`
	Requests      bool          `yaml:"requests,omitempty" doc:"also the data of each request (vllm, inference-perf)"`
	AdapterStages bool          `yaml:"adapter_stages,omitempty" doc:"also each adapter's stages (inference-perf)"`
}

// ExportMetrics are metrics of vllm's result file.
type ExportMetrics []string

// Values returns all of them.
func (ExportMetrics) Values() []string {
	return []string{"ttft", "tpot", "itl", "e2el", "client_queue_time", "e2el_including_client_queue"}
}

// Upload is a place in an object store. The keys for it are in the environment, never here.
type Upload struct {
	URL        string `yaml:"url" need:"yes" doc:"s3://BUCKET/PATH or gs://BUCKET/PATH"`
	Endpoint   string `yaml:"endpoint,omitempty" doc:"URL of the store; empty: AWS_ENDPOINT_URL_S3, or the provider's"`
	Region     string `yaml:"region,omitempty" doc:"of the bucket; empty: AWS_REGION"`
	Addressing string `yaml:"addressing,omitempty" one:"auto virtual path" doc:"place of the bucket in URLs: host or path"`
}

// Source is the file of another tool that a profile was translated from, and what was changed on the way.
type Source struct {
	Harness string   `yaml:"harness" doc:"tool whose file it was"`
	File    string   `yaml:"file" doc:"name of the file"`
	Notes   []string `yaml:"notes,omitempty" doc:"one sentence for each thing that was repaired, ignored or approximated"`
}

// Defaults returns a profile without data and stages whose other keys have the defaults of the reference page.
func Defaults() *Profile {
	return &Profile{Schema: Schema, API: API{Kind: "completions", Stream: true, IgnoreEOS: true}}
}
