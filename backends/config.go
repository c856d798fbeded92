package backends

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/models"
)

// Config is what a backend needs to know.
type Config struct {
	Endpoints   []Endpoint
	API         string // "completions", "chat" or "generate"; empty: the driver's default
	ServedModel string
	Sampling    models.Sampling
	Stream      bool
	KeepText    bool    // LoadGen gets text, not ids
	NeedIDs     bool    // an answer without token ids is a failure
	MinTokens   int     // fewer output tokens are too_short
	Vocabulary  int     // ids at or above it are bad_event; 0: not checked
	Batch       int     // prompts in one request; 0: one, as itself
	Format      *Format // that answers have to have; nil: any
	// ServerVersion is what the servers say of themselves; empty: not known.
	ServerVersion string
	// Drop are fields that a server has refused: they are left out of requests.
	Drop []string
	// IDsInLogprobs says that token ids are asked for, and read, among the log probabilities.
	IDsInLogprobs bool
	// CountText counts the tokens of an answer's text where the server sends neither ids nor a count; nil: nobody can.
	CountText func(text []byte) (int, error)
	// Reconnected is called when an endpoint takes a connection after one was refused or reset, from any goroutine. It
	// must not block; nil: nothing is called.
	Reconnected func(endpoint int)
	// Request gives the encoded body of a loaded sample; the bytes stay valid until the test ends.
	Request func(index int) []byte

	Concurrency        int // requests in flight; 0: no limit
	PerEndpoint        int // requests in flight at one endpoint; 0: no limit
	RequestTimeout     time.Duration
	FirstTokenTimeout  time.Duration
	TokenTimeout       time.Duration
	ConnectTimeout     time.Duration
	CoalesceWakeups    time.Duration // pause between wake-ups where they come thick and fast; 0: none
	PinLoop            int           // processor of the thread that reports, counted from 1; 0: any
	Loops              int           // backends beside each other, which share the files of the process; 0: 1
	Retries            int           // further attempts on a fresh connection, before the first byte
	Balance            string
	Key                func(index int) uint64 // what the strategy hash goes by; nil: the index
	EndpointTimeout    time.Duration          // how long queries wait once every endpoint was left out; 0: 30 s
	InsecureSkipVerify bool
	CAFile             string // PEM file of authorities to trust beside the system's; empty: none
	Proxy              string // URL of the HTTP proxy that all endpoints are reached through; empty: none
	ProbeTokens        int    // longest answer of a probe; 0: 8
	// Asking is called before an answer is waited for outside of a test: with the request, and how long that may take;
	// nil: nobody listens.
	Asking         func(request string, longest time.Duration)
	MaxAnswerBytes int64 // larger answers are too_large; 0: 256 MiB of a stream, and of one body what its tokens can take
}

// Drops says whether a field is left out of requests.
func (c *Config) Drops(field string) bool { return slices.Contains(c.Drop, field) }

// Format is a form of answers: JSON.
type Format struct {
	Schema json.RawMessage // compact; nil: any object
}

// SchemaText is the schema; that of any object where there is none.
func (f *Format) SchemaText() string {
	if f.Schema == nil {
		return `{"type":"object"}`
	}
	return string(f.Schema)
}
