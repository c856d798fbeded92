package backends

import (
	"encoding/json"
	"time"
)

// Probe is what an endpoint reported before the first query.
type Probe struct {
	URL             string   `json:"url"`
	Server          string   `json:"server,omitempty"`  // vllm, sglang, ...; empty: unknown
	Version         string   `json:"version,omitempty"` // as the server reports it
	Models          []string `json:"models"`            // served names
	MaxModelLen     int      `json:"max_model_len,omitempty"`
	HealthStatus    int      `json:"health_status"`
	InFlight        *int     `json:"in_flight,omitempty"` // requests of other clients at the server; nil: not reported
	Client          string   `json:"client"`              // HTTP client that the test uses
	Generated       bool     `json:"generated"`
	TokenIDPrompt   bool     `json:"token_id_prompt"`
	ReturnsTokenIDs bool     `json:"returns_token_ids"`
	Usage           bool     `json:"usage"`
	IDsInLogprobs   bool     `json:"ids_in_logprobs,omitempty"` // ids come in the log probabilities only
	Dropped         []string `json:"dropped,omitempty"`         // fields that it rejects and that are left out
	Streams         bool     `json:"streams"`
	Identified      bool     `json:"identified"`             // the answer carries the id of its request
	AnswerModel     string   `json:"answer_model,omitempty"` // the model that the answer names
	// Profilers are the signs of a profiler in the server's configuration. Results of a profiled server must not be
	// published.
	Profilers []string `json:"profilers,omitempty"`
	// Identity distinguishes the model from others that are served under the same name, for example by its path.
	Identity map[string]string `json:"model_identity,omitempty"`
	// from the server's arguments, or else from the short answer
	StreamMode   StreamMode    `json:"stream_mode,omitempty"`
	OutputTokens int           `json:"output_tokens"`
	TTFT         time.Duration `json:"ttft_ns"`
	Latency      time.Duration `json:"latency_ns"`
	Notes        []string      `json:"notes,omitempty"`
	// Info is what the server reports about its settings and its machine, unchanged and including secrets.
	Info json.RawMessage `json:"-"`
}

// Fault is the kind of a problem with an endpoint.
type Fault string

// The faults that a probe finds.
const (
	FaultUnreachable  Fault = "unreachable"    // no connection, or no answer in time
	FaultTLS          Fault = "tls"            // certificate or handshake
	FaultUnauthorized Fault = "unauthorized"   // 401 or 403
	FaultRedirect     Fault = "redirect"       // 3xx
	FaultNotReady     Fault = "not_ready"      // health answers 5xx
	FaultStatus       Fault = "status"         // any other status than 200
	FaultNotJSON      Fault = "not_json"       // HTML or something else where JSON was expected
	FaultWrongModel   Fault = "wrong_model"    // the served names lack the required one
	FaultGenerate     Fault = "generate"       // the short generation failed
	FaultNoTokenIDs   Fault = "no_token_ids"   // ids are needed and were not sent
	FaultNoStream     Fault = "no_stream"      // a stream is needed and one body came
	FaultNoTokenCount Fault = "no_token_count" // neither ids nor usage
)

// EndpointError is the error of an endpoint that cannot be used. It is a fault of the environment (exit code 3).
type EndpointError struct {
	URL    string
	Fault  Fault
	Text   string   // one paragraph: what was attempted, what came instead, what to try
	Models []string // served names; nil: unknown
	Err    error    // cause; may be nil
}

// Error returns the paragraph.
func (e *EndpointError) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *EndpointError) Unwrap() error { return e.Err }
