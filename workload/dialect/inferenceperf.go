package dialect

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// ipFile is a configuration of inference-perf (inference_perf/config.py of kubernetes-sigs/inference-perf).
type ipFile struct {
	API       ipAPI       `yaml:"api"`
	Data      ipData      `yaml:"data"`
	Load      ipLoad      `yaml:"load"`
	Metrics   ipMetrics   `yaml:"metrics"`
	Report    ipReport    `yaml:"report"`
	Storage   ipStorage   `yaml:"storage"`
	Server    ipServer    `yaml:"server"`
	Tokenizer ipTokenizer `yaml:"tokenizer"`
	Breakers  []ipBreaker `yaml:"circuit_breakers"`
	Observed  any         `yaml:"observability"` // metrics about the tool itself
}

type ipAPI struct {
	Type           string            `yaml:"type" one:"completion chat anthropic_messages embeddings"`
	Streaming      bool              `yaml:"streaming"`
	Headers        map[string]string `yaml:"headers"`
	SLOUnit        string            `yaml:"slo_unit" one:"s ms us"`
	SLOTTFT        string            `yaml:"slo_ttft_header"`
	SLOTPOT        string            `yaml:"slo_tpot_header"`
	ResponseFormat *ipResponseFormat `yaml:"response_format"`
	Embeddings     ipEmbeddings      `yaml:"embeddings"`
	SessionID      string            `yaml:"session_id_header_key"`
	SessionToken   string            `yaml:"session_token_header_key" yet:"this program sends no session tokens"`
}

type ipEmbeddings struct {
	Batch      int    `yaml:"batch_size" is:"1..1"`
	Dimensions int    `yaml:"dimensions" is:">=1"`
	Encoding   string `yaml:"encoding_format" one:"float"`
}

type ipResponseFormat struct {
	Type   string         `yaml:"type" one:"json_schema json_object" need:"yes"`
	Name   string         `yaml:"name"`
	Schema map[string]any `yaml:"json_schema"`
}

type ipServer struct {
	Type      string `yaml:"type" one:"vllm sglang tgi mock"`
	Model     string `yaml:"model_name"`
	URL       string `yaml:"base_url"`
	IgnoreEOS *bool  `yaml:"ignore_eos"`
	APIKey    string `yaml:"api_key" yet:"a key does not belong in a profile; set MLPERF_GO_API_KEY"`
	Cert      string `yaml:"cert_path" yet:"client certificates are not supported"`
	Key       string `yaml:"key_path" yet:"client certificates are not supported"`
}

type ipTokenizer struct {
	Path  string `yaml:"pretrained_model_name_or_path"`
	Trust bool   `yaml:"trust_remote_code"`
	Token string `yaml:"token" yet:"this program downloads no tokenizer; give a local path"`
	Limit any    `yaml:"load_timeout"`
}

// ipMetrics, ipReport and ipStorage select the written files. Here the command line does that, except for goodput and
// the bucket of --upload profile.
type ipMetrics struct {
	Type       string `yaml:"type" one:"prometheus default"`
	Prometheus struct {
		Interval float64  `yaml:"scrape_interval"`
		URL      string   `yaml:"url"`
		Managed  bool     `yaml:"google_managed"`
		Filters  []string `yaml:"filters"`
		Token    any      `yaml:"bearer_token" yet:"a key does not belong in a profile"`
		Verify   any      `yaml:"verify_ssl"`
		Headers  any      `yaml:"headers"`
	} `yaml:"prometheus"`
}

type ipReport struct {
	Requests struct {
		Summary         bool      `yaml:"summary"`
		PerStage        bool      `yaml:"per_stage"`
		PerRequest      bool      `yaml:"per_request"`
		Fields          any       `yaml:"per_request_fields"`
		PerAdapter      bool      `yaml:"per_adapter"`
		PerAdapterStage bool      `yaml:"per_adapter_stage"`
		Percentiles     []float64 `yaml:"percentiles" is:"0..100"`
		ServerTokens    bool      `yaml:"use_server_output_tokens"`
		Messages        int       `yaml:"max_error_messages"`
	} `yaml:"request_lifecycle"`
	Prometheus struct {
		Summary  bool `yaml:"summary"`
		PerStage bool `yaml:"per_stage"`
	} `yaml:"prometheus"`
	Sessions struct {
		Summary    bool `yaml:"summary"`
		PerStage   bool `yaml:"per_stage"`
		PerSession bool `yaml:"per_session"`
	} `yaml:"session_lifecycle"`
	Goodput struct {
		Constraints map[string]float64 `yaml:"constraints"`
	} `yaml:"goodput"`
}

type ipStorage struct {
	Local struct {
		Path   string `yaml:"path"`
		Prefix string `yaml:"report_file_prefix"`
	} `yaml:"local_storage"`
	Google *struct {
		Bucket string `yaml:"bucket_name"`
		Path   string `yaml:"path"`
		Prefix string `yaml:"report_file_prefix"`
	} `yaml:"google_cloud_storage"`
	S3 *struct {
		Bucket   string `yaml:"bucket_name"`
		Path     string `yaml:"path"`
		Prefix   string `yaml:"report_file_prefix"`
		Endpoint string `yaml:"endpoint_url"`
		Region   string `yaml:"region_name"`
		Style    string `yaml:"addressing_style" one:"auto virtual path"`
	} `yaml:"simple_storage_service"`
}

type ipBreaker struct {
	Name    string `yaml:"name" need:"yes"`
	Metrics struct {
		Matches []any `yaml:"matches"`
		Rules   []any `yaml:"rules"`
	} `yaml:"metrics"`
	Triggers []struct {
		Type       string  `yaml:"type" one:"consecutive rate_over_window" need:"yes"`
		Threshold  float64 `yaml:"threshold" is:">0"`
		Window     float64 `yaml:"window_sec" is:">=0"`
		MinSamples int     `yaml:"min_samples" is:">=0"`
	} `yaml:"triggers"`
}

type ipLoad struct {
	Type           string      `yaml:"type" one:"constant poisson trace_replay concurrent trace_session_replay"`
	Interval       *float64    `yaml:"interval" is:">=0"`
	Stages         []ipStage   `yaml:"stages"`
	Sweep          *ipSweep    `yaml:"sweep"`
	Workers        int         `yaml:"num_workers" is:">=0"`
	Concurrency    int         `yaml:"worker_max_concurrency" is:">=0"`
	Connections    int         `yaml:"worker_max_tcp_connections" is:">=0"`
	RequestTimeout float64     `yaml:"request_timeout" is:"0..1e7"`
	Retries        any         `yaml:"request_retries" yet:"a request that failed is not sent again"`
	Backoff        any         `yaml:"request_retry_backoff_sec" yet:"a request that failed is not sent again"`
	Grace          any         `yaml:"stage_teardown_grace_seconds" yet:"stages wait for all answers; set request_timeout"`
	Trace          *ipTrace    `yaml:"trace"`
	Breakers       []string    `yaml:"circuit_breakers"`
	Adapters       []ipAdapter `yaml:"lora_traffic_split"`
	Seed           *uint64     `yaml:"base_seed"`
}

type ipStage struct {
	Rate        float64 `yaml:"rate" is:">0"`
	Duration    float64 `yaml:"duration" is:"0..1e7"`
	Requests    int     `yaml:"num_requests" is:">=1"`
	Concurrency int     `yaml:"concurrency_level" is:">=1"`
	Sessions    *int    `yaml:"concurrent_sessions" is:">=0"`
	SessionRate float64 `yaml:"session_rate" is:">0"`
	NumSessions int     `yaml:"num_sessions" is:">=1"`
	Timeout     float64 `yaml:"timeout" is:"0..1e7"`
}

type ipSweep struct {
	Type       string   `yaml:"type" one:"geometric linear" need:"yes"`
	Requests   *int     `yaml:"num_requests" is:">=1"`
	Timeout    *float64 `yaml:"timeout" is:"0..1e7"`
	Stages     *int     `yaml:"num_stages" is:">=1"`
	Duration   *float64 `yaml:"stage_duration" is:"0..1e7"`
	Percentile *float64 `yaml:"saturation_percentile" is:"0..100"`
}

type ipTrace struct {
	File   string `yaml:"file" need:"yes"`
	Format string `yaml:"format" one:"AzurePublicDataset"`
}

type ipAdapter struct {
	Name  string  `yaml:"name" need:"yes"`
	Split float64 `yaml:"split" is:"0..1" need:"yes"`
}

// repairInferencePerf repairs known faults of published files (docs/reference/dialects.md#repairs).
func repairInferencePerf(root *yaml.Node, found *notes) {
	if tokenizer := get(root, "tokenizer"); !has(root, "data") {
		if key, data := cut(tokenizer, "data"); data != nil {
			found.add("line %d: repaired tokenizer.data: moved to data", key.Line)
			root.Content = append(root.Content, key, data)
		}
	}
	data := get(root, "data")
	for _, key := range []string{"input_distribution", "output_distribution"} {
		repairDeviation(get(data, key), "data."+key, found)
	}
	weka := get(data, "weka_trace_replay")
	for _, key := range []string{"bad_tool_call_handling", "filter"} {
		if k, _ := cut(weka, key); k != nil {
			found.add("line %d: repaired data.weka_trace_replay.%s: removed, only OpenTelemetry traces have it", k.Line, key)
		}
	}
	if data == nil {
		return
	}
	for _, part := range append([]*yaml.Node{data}, data.Content...) {
		repairImages(get(part, "multimodal"), found)
	}
}

func repairDeviation(distribution *yaml.Node, path string, found *notes) {
	if has(distribution, "std_dev") {
		return
	}
	if key, value := cut(distribution, "std"); key != nil {
		found.add("line %d: repaired %s.std: read as std_dev", key.Line, path)
		key.Value = "std_dev"
		distribution.Content = append(distribution.Content, key, value)
	}
}

// repairImages moves keys of an empty image: below it.
func repairImages(media *yaml.Node, found *notes) {
	image := get(media, "image")
	if image == nil || image.Kind != yaml.ScalarNode || image.ShortTag() != "!!null" {
		return
	}
	var moved []string
	for _, key := range []string{"count", "insertion_point", "resolutions", "representation"} {
		if k, v := cut(media, key); k != nil {
			image.Content, moved = append(image.Content, k, v), append(moved, key)
		}
	}
	if len(moved) > 0 {
		*image = yaml.Node{Kind: yaml.MappingNode, Line: image.Line, Content: image.Content}
		found.add("line %d: repaired multimodal.image: moved %s below it", image.Line, strings.Join(moved, ", "))
	}
}
