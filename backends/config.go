package backends

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/models"
)

// Config contains the settings of a test that a backend needs. The embedded parts group them by responsibility, so
// that code can accept only the part that it needs.
type Config struct {
	Endpoints []Endpoint
	// Body returns the encoded request body of a loaded sample. The bytes stay valid until the test ends.
	Body func(index int) []byte
	// Head returns further header fields of a request, each with its line end; nil: no request has any. The bytes stay
	// valid until the request has ended.
	Head func(index int) []byte
	// Model returns the model that the request of a loaded sample names, or an empty text for ServedModel; nil: all name
	// that one. Only workloads may set it.
	Model func(index int) string
	// Conduct returns how the client of a loaded sample behaves; nil: every client waits for its answer and reads
	// it at once. Only workloads may set it, never a test of LoadGen.
	Conduct func(index int) Conduct

	RequestOptions
	AnswerOptions
	Dispatch
	Deadlines
	Transport
	LoopOptions
	ProbeOptions
}

// Conduct describes how the client of one request behaves; the zero value: it reads at once until the end.
type Conduct struct {
	// The client closes the connection once it has received LeaveTokens output tokens, or LeaveAfter after the request
	// was sent; 0: it does not leave for that reason. The outcome is Abandoned.
	LeaveTokens int
	LeaveAfter  time.Duration
	// The client pauses after each read that brings tokens, for PerRead and PerToken for each of them.
	PerRead, PerToken time.Duration
}

// Abandoned is the outcome of a request whose client left because of its Conduct. It is not a failure.
const Abandoned Reason = "abandoned"

// Leaves reports whether the client may close the connection before the end of an answer.
func (c *Conduct) Leaves() bool { return c.LeaveTokens > 0 || c.LeaveAfter > 0 }

// IsSlow reports whether the client pauses while it reads.
func (c *Conduct) IsSlow() bool { return c.PerRead > 0 || c.PerToken > 0 }

// RequestOptions determine the content of requests.
type RequestOptions struct {
	API         string // "completions", "chat" or "generate"; empty: the driver's default
	ServedModel string
	Sampling    models.Sampling
	Stream      bool
	Traced      bool    // requests carry a traceparent
	Batch       int     // prompts in one request; 0: requests carry one prompt, not in a list
	Format      *Format // required form of answers; nil: any
	Passages    int     // that a rerank request compares, each of which its answer ranks; 0: unknown
	// ServerVersion is what the servers report; empty: unknown.
	ServerVersion string
	// Drop lists fields that a server has rejected; requests do not contain them.
	Drop []string
	// IDsInLogprobs is set if token ids are requested in, and read from, the log probabilities.
	IDsInLogprobs bool
}

// Drops reports whether requests must not contain a field.
func (o *RequestOptions) Drops(field string) bool { return slices.Contains(o.Drop, field) }

// Format is a form of answers: JSON.
type Format struct {
	Schema json.RawMessage // compact; nil: any object
}

// SchemaText returns the schema; without one, the schema of any object.
func (f *Format) SchemaText() string {
	if f.Schema == nil {
		return `{"type":"object"}`
	}
	return string(f.Schema)
}

// AnswerOptions are how answers are read and checked.
type AnswerOptions struct {
	KeepText   bool // LoadGen receives text instead of ids
	NeedIDs    bool // an answer without token ids is a failure
	MinTokens  int  // an answer of fewer output tokens is FailTooShort
	Vocabulary int  // an id at or above it is FailBadEvent; 0: not checked
	// CountText counts the tokens of an answer's text if the server sends neither ids nor a count; nil: no tokenizer.
	CountText      func(text []byte) (int, error)
	MaxAnswerBytes int64 // a larger answer is FailTooLarge; 0: 256 MiB of a stream, and what its tokens need of a body
}

// Dispatch is when and to which endpoint requests are sent.
type Dispatch struct {
	Concurrency int                    // requests in flight; 0: no limit
	PerEndpoint int                    // requests in flight at one endpoint; 0: no limit
	Balance     string                 // strategy that chooses the endpoint; empty: round-robin
	Key         func(index int) uint64 // what the strategies hash and assigned use; nil: the sample's index
	Retries     int                    // further attempts on a new connection, before the first byte of an answer
	// Reconnected is called by any goroutine when an endpoint accepts a connection after it refused or reset one. It must
	// not block. nil: not called.
	Reconnected func(endpoint int)
}

// BalanceAssigned is the strategy that sends each query to the endpoint whose number is its key (see Dispatch.Key).
const BalanceAssigned = "assigned"

// Deadlines are limits in time; 0 is the client's default.
type Deadlines struct {
	RequestTimeout    time.Duration // of one attempt; 0: 1 h
	FirstTokenTimeout time.Duration // of streams; 0: RequestTimeout
	TokenTimeout      time.Duration // between the tokens of a stream; 0: RequestTimeout
	ConnectTimeout    time.Duration // 0: 10 s
	EndpointTimeout   time.Duration // how long queries wait while every endpoint is excluded; 0: 30 s
}

// Transport is how connections are made.
type Transport struct {
	InsecureSkipVerify bool
	CAFile             string // PEM file of authorities that are trusted besides the system's; empty: none
	ClientCert         string // PEM file of the certificate that servers may ask for; empty: none
	ClientKey          string // PEM file of its private key; empty: ClientCert contains it
	HTTP2              bool   // use HTTP/2 over TLS if the server offers it, through net/http
	Proxy              string // URL of the HTTP proxy for all endpoints; empty: none
}

// LoopOptions tune the event loop.
type LoopOptions struct {
	CoalesceWakeups time.Duration // pause between wake-ups while they are frequent; 0: none
	KernelTimes     bool          // stamp tokens when the kernel received them, not when they were read
	PinLoop         int           // processor of the thread that reports, counted from 1; 0: any
	Loops           int           // backends that share the open files of the process; 0: 1
}

// ProbeOptions are for requests outside of a test.
type ProbeOptions struct {
	ProbeTokens int    // longest answer of a probe, in tokens; 0: 8
	ModelFlag   string // of the command, for the served model's name; empty: --served-model
	OmitFlag    string // of the command, which leaves the short test request out; empty: it has none
	Benchmark   string // whose own model is requested by default; empty: the user named the model
	// Asking is called before each such request, with the request and its time limit; nil: not called.
	Asking func(request string, longest time.Duration)
}
