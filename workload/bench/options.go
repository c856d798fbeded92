package bench

import (
	"iter"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/servermetrics"
	"github.com/mlperf-go/mlperf-go/workload/engine"
	"github.com/mlperf-go/mlperf-go/workload/floor"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Options are one run.
type Options struct {
	Profile   *profile.Profile
	Endpoints []string // base URLs of the servers
	Backend   string   // name of a protocol, or "auto"
	Model     string   // served name; empty: the profile's, or the first that the server lists
	APIKey    string
	Balance   string // strategy that chooses the endpoint; empty: round-robin
	Retries   int
	Transport backends.Transport
	Timeouts  backends.Deadlines
	Shards    int // event loops; 0: 1

	Folder string            // of the results; it must not hold an earlier run unless Force is set
	Access atomicfile.Access // who may read the results
	Force  bool
	// ResetCache is whether the servers empty their prefix caches before the first request: auto, require or off.
	ResetCache string
	Command    []string
	Environ    []string // of the process; the folder keeps a fixed list of its variables
	Secrets    *secret.Redactor
	Limits     []measure.Limit // of a good request, besides the profile's
	// PricePerHour is the price of the servers in any currency; 0: unknown.
	PricePerHour float64
	Tokenizer    string // file or folder of the served model's tokenizer; empty: the profile's, if that is a path
	// Vocabulary is the number of token ids that prompts may contain; 0: the default.
	Vocabulary int
	// Rehearsal is a reason why this run is a rehearsal, in addition to the simulator as its server; empty: there
	// is no other reason.
	Rehearsal string
	// Calibration has the client's own limits, with which the record compares the run; nil: unknown.
	Calibration *floor.Calibration
	ServerDir   string // folder of the servers that were started for the run; empty: none were started
	// Part is the share of the workload that this process sends; the zero value: all. Control is the Unix socket on which
	// a coordinator then starts each stage; empty: stages start as soon as they are prepared.
	Part     engine.Part
	Control  string
	Observer Observer
	// MetricsEvery is the time between two readings of the servers' metrics pages; 0: they are not recorded. MetricsURLs
	// are further pages.
	MetricsEvery time.Duration
	MetricsURLs  []string
	Details      bool // the observer's Progress has single requests and failures
}

// Observer receives notes and the progress of a run. Its methods are called one at a time.
type Observer interface {
	// Note is one sentence for the user.
	Note(text string)
	// Progress is called about twice a second while requests are sent.
	Progress(p Progress)
}

// Progress is the state of a run.
type Progress struct {
	engine.Live
	Stages   int
	Elapsed  time.Duration
	Expected time.Duration // of the whole run; 0: unknown
	Requests int           // of the whole run; 0: unknown
	RatePerS float64       // answers and failures over the last seconds

	TTFTp99, TPOTp99 time.Duration // so far, with Details; 0: none yet
	// Latest are the requests that ended since the last call, with Details, except those that the client cancelled
	// or read slowly on purpose. Each has the time at which it was due, in ns of the wall clock. They are valid
	// until the call returns.
	Latest      iter.Seq2[*ledger.Entry, int64]
	LatestUntil time.Time // every request that ended before has been in Latest
	// Servers are the readings of the servers' metrics pages since the last call.
	Servers  []servermetrics.Signals
	Failures []Failure // failed attempts since the last call, at most 20, with Details
}

// Failure is a failed attempt at a request.
type Failure struct {
	At       time.Time
	Endpoint string
	Reason   backends.Reason
	Retried  bool   // another attempt followed
	Detail   string // one line
}

// Names of the files in a run's folder.
const (
	RecordName  = "bench.json"
	ProfileName = "profile.yaml"
	FailedName  = "failures.jsonl"
	SummaryName = "summary.txt"
	MarkerName  = "traffic_complete.yaml" // marks the end of the traffic
	MadeUpName  = "made-up"               // folder of a rehearsal's data
	lockName    = ".bench.lock"
)
