package backends

import "time"

// Probe is what an endpoint said of itself before the first query.
type Probe struct {
	URL             string   `json:"url"`
	Server          string   `json:"server,omitempty"`  // vllm, sglang, ... where it can be told
	Version         string   `json:"version,omitempty"` // as the server reports it
	Models          []string `json:"models"`            // served names
	MaxModelLen     int      `json:"max_model_len,omitempty"`
	HealthStatus    int      `json:"health_status"`
	InFlight        *int     `json:"in_flight,omitempty"` // requests that the server had already; nil: it does not tell
	Client          string   `json:"client"`              // which HTTP client will be used
	Generated       bool     `json:"generated"`
	TokenIDPrompt   bool     `json:"token_id_prompt"`
	ReturnsTokenIDs bool     `json:"returns_token_ids"`
	Usage           bool     `json:"usage"`
	IDsInLogprobs   bool     `json:"ids_in_logprobs,omitempty"` // ids come among the log probabilities only
	Dropped         []string `json:"dropped,omitempty"`         // fields that it refuses and that are left out
	Streams         bool     `json:"streams"`
	Identified      bool     `json:"identified"`             // the answer carries the id of its request
	AnswerModel     string   `json:"answer_model,omitempty"` // the model that the answer names
	// Profilers are the signs of a profiler in the server's configuration: no result of it is to be published.
	Profilers []string `json:"profilers,omitempty"`
	// Identity is what tells the model from another one that is served under the same name, such as its path.
	Identity map[string]string `json:"model_identity,omitempty"`
	// as the server's arguments say, or else the short answer showed
	StreamMode   StreamMode    `json:"stream_mode,omitempty"`
	OutputTokens int           `json:"output_tokens"`
	TTFT         time.Duration `json:"ttft_ns"`
	Latency      time.Duration `json:"latency_ns"`
	Notes        []string      `json:"notes,omitempty"`
}

// Fault says in one word what is wrong with an endpoint.
type Fault string

// The faults that a probe finds.
const (
	FaultUnreachable  Fault = "unreachable"    // no connection, or no answer in time
	FaultTLS          Fault = "tls"            // certificate or handshake
	FaultUnauthorized Fault = "unauthorized"   // 401 or 403
	FaultRedirect     Fault = "redirect"       // 3xx
	FaultNotReady     Fault = "not_ready"      // health says 5xx
	FaultStatus       Fault = "status"         // any other status than 200
	FaultNotJSON      Fault = "not_json"       // HTML or something else where JSON was expected
	FaultWrongModel   Fault = "wrong_model"    // the served names lack the wanted one
	FaultGenerate     Fault = "generate"       // the short generation failed
	FaultNoTokenIDs   Fault = "no_token_ids"   // ids are needed and were not sent
	FaultNoStream     Fault = "no_stream"      // a stream is needed and one body came
	FaultNoTokenCount Fault = "no_token_count" // neither ids nor usage
)

// EndpointError says that an endpoint cannot be used as it is. It is a fault of the environment (exit code 3).
type EndpointError struct {
	URL    string
	Fault  Fault
	Text   string   // one paragraph: what was attempted, what came instead, what to try
	Models []string // served names, where they are known
	Err    error    // what the system said; may be nil
}

// Error is the paragraph.
func (e *EndpointError) Error() string { return e.Text }

// Unwrap gives the cause.
func (e *EndpointError) Unwrap() error { return e.Err }
