package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/hostinfo"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Schema names the form of run.json; schema/run.schema.json describes it.
const Schema = "mlperf-go/run/1"

// Verdict is what a run is worth.
type Verdict string

// The verdicts.
const (
	Valid       Verdict = "VALID"
	Invalid     Verdict = "INVALID"
	Interrupted Verdict = "INTERRUPTED"
)

// Cause is one cause of a verdict other than VALID.
type Cause struct {
	Code  string `json:"code"`
	Text  string `json:"text"`
	Value any    `json:"value,omitempty"`
	Limit any    `json:"limit,omitempty"`
}

// Record is run.json.
type Record struct {
	Schema           string         `json:"schema"`
	Rehearsal        bool           `json:"rehearsal"`
	RehearsalReasons []string       `json:"rehearsal_reasons,omitempty"`
	Tool             Tool           `json:"tool"`
	Host             hostinfo.Facts `json:"host"`
	Command          []string       `json:"command"`
	Model            string         `json:"model"`
	LoadGenModel     string         `json:"loadgen_model"`
	ServedModel      string         `json:"served_model"`
	// of the rules: its limits, counts and targets, and, without --seed-override, its seeds
	Round     string    `json:"round"`
	Scenario  string    `json:"scenario"`
	Mode      string    `json:"mode"`
	Backend   string    `json:"backend"`
	Started   time.Time `json:"started"`
	DurationS float64   `json:"duration_s"` // first issue to last completion
	Verdict   Verdict   `json:"verdict"`
	Reasons   []Cause   `json:"reasons"`
	Notes     []string  `json:"notes,omitempty"`

	LoadGen    LoadGenResult     `json:"loadgen"`
	Samples    SampleCounts      `json:"samples"`
	Tokens     TokenCounts       `json:"tokens"`
	Throughput ledger.Throughput `json:"throughput"`
	LatencyS   Latencies         `json:"latency_s"`
	Answers    Answers           `json:"answers"`
	Client     Client            `json:"client"`
	Endpoints  []EndpointCounts  `json:"endpoints"`
	Servers    *servers.Facts    `json:"servers,omitempty"` // where --server-dir told of them
	Dataset    DatasetFacts      `json:"dataset"`
	Tokenizer  *finder.Source    `json:"tokenizer,omitempty"` // what counted tokens where the server did not, or after it
	Sampling   map[string]any    `json:"sampling"`
	Breaches   []Breach          `json:"breaches,omitempty"` // what the closed division does not allow
	Accuracy   *Score            `json:"accuracy,omitempty"` // of an accuracy test
	// of a Server test: how it stands against LoadGen's early-stopping criterion
	Tails []Tail            `json:"tails,omitempty"`
	Files map[string]string `json:"files"`

	otherModels []string // sentences on endpoints that served another model
	oneToken    int      // successful answers of one token
	// successful answers to a prompt that is not as long as the one that was sent, as the server counts
	otherPrompts int
	misreported  int64 // reports of samples that were none: second ones, and of samples that LoadGen had not issued
}

// Tool says what made the record.
type Tool struct {
	Version         string `json:"version"`
	LoadGen         string `json:"loadgen"`
	LoadGenRevision string `json:"loadgen_revision"`
	Go              string `json:"go"`
}

// LoadGenResult is what LoadGen's own logs say.
type LoadGenResult struct {
	Valid    *bool          `json:"valid"` // null in accuracy mode, and where LoadGen came to no verdict
	Complete bool           `json:"complete"`
	Errors   int            `json:"errors"`
	Warnings int            `json:"warnings"`
	Missing  []string       `json:"missing,omitempty"`
	Result   map[string]any `json:"result"`
}

// SampleCounts count what became of the samples.
type SampleCounts struct {
	Issued         int64                   `json:"issued"`
	Completed      int64                   `json:"completed"` // successful and failed
	Failed         int64                   `json:"failed"`
	Retried        int64                   `json:"retried"`
	FirstTokens    int64                   `json:"first_tokens"`
	Empty          int64                   `json:"empty"`
	FailureRate    float64                 `json:"failure_rate"`
	FailedByReason map[ledger.Reason]int64 `json:"failed_by_reason"`
}

// Answers say how it is known to which requests the answers belong.
type Answers struct {
	// Identified says that every endpoint sends the id of a request back in its answer, and that every answer was compared
	// with it.
	Identified bool  `json:"identified"`
	Unasked    int64 `json:"unasked"` // answers that came although no request was under way on their connection
	Strays     int64 `json:"strays"`  // times that other bytes came in such a place
}

// TokenCounts count tokens of successful samples.
type TokenCounts struct {
	Input      int64              `json:"input"`
	Output     int64              `json:"output"`
	Source     ledger.TokenSource `json:"source"` // several are joined by +
	Mismatches int64              `json:"mismatches"`
	Events     int64              `json:"events"`        // of streams, that brought tokens
	Merged     int64              `json:"merged_events"` // of them, with more than one token

	// of an accuracy test whose texts the server counted, where a tokenizer is named
	Recount *Recount `json:"recount,omitempty"`
}

// Latencies are in seconds, from successful samples; null: nothing to count.
type Latencies struct {
	TTFT  *ledger.Stats `json:"ttft"`
	TPOT  *ledger.Stats `json:"tpot"`
	ITL   *ledger.Stats `json:"itl"` // from a histogram with 0.8 % error; mean and max are exact
	E2E   *ledger.Stats `json:"e2e"`
	NTPOT *ledger.Stats `json:"ntpot"`
}

// EndpointCounts say what one server got.
type EndpointCounts struct {
	URL         string `json:"url"`
	Requests    int64  `json:"requests"`
	Failed      int64  `json:"failed"`
	Retried     int64  `json:"retried"`
	Connections int64  `json:"connections"` // opened; 0 where the backend does not count them
	Excluded    int64  `json:"excluded"`    // times it was left out because it was not there
	// before the timed phase: emptied, not_offered or failed; empty: nothing was asked
	PrefixCache string `json:"prefix_cache,omitempty"`
}

// DatasetFacts name the data set.
type DatasetFacts struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Samples int    `json:"samples"`
}

// ExitCode is the program's exit code for the record.
func (r *Record) ExitCode() int {
	switch {
	case r.Verdict == Valid:
		return ExitValid
	case r.has("log_incomplete"):
		return ExitEnvironment
	default:
		return ExitInvalid
	}
}

// ValidBut reports whether the run is VALID, or INVALID for nothing but reasons of the given codes.
func (r *Record) ValidBut(codes ...string) bool {
	return r.Verdict == Valid || r.Verdict == Invalid && len(r.Reasons) > 0 &&
		!slices.ContainsFunc(r.Reasons, func(c Cause) bool { return !slices.Contains(codes, c.Code) })
}

// Audit says whether LoadGen was given an audit configuration: the test then is no performance result, however well it
// went. Its verdict does not ask LoadGen's, and its counts, order and samples are the audit's.
func (r *Record) Audit() bool {
	_, given := r.Files[AuditName]
	return given
}

// demands are LoadGen's conditions of VALID, by their keys in its detail log.
var demands = []struct{ key, words string }{
	{"result_perf_constraints_met", "the latency limits"}, {"result_min_duration_met", "the minimum duration"},
	{"result_min_queries_met", "the minimum of queries"},
	{"early_stopping_met", "early stopping"},
}

// Overruled says in words that LoadGen's own summary says INVALID and why that does not count; "": it does count, or
// says nothing of the kind.
func (r *Record) Overruled() string {
	if !r.Audit() || r.Verdict != Valid || r.LoadGen.Valid == nil || *r.LoadGen.Valid {
		return ""
	}
	var unmet []string
	for _, d := range demands {
		if r.LoadGen.Result[d.key] == false {
			unmet = append(unmet, d.words)
		}
	}
	text := "LoadGen's own summary says INVALID"
	if len(unmet) > 0 {
		text += " (" + strings.Join(unmet, ", ") + ")"
	}
	return text + ": that does not count, because an audit sets counts and durations of its own and is judged by its " +
		"verification"
}

// Test says in words which test it was.
func (r *Record) Test() string {
	kind := r.Mode
	if r.Audit() {
		kind = "an audit"
	}
	return fmt.Sprintf("%s of %s, %s", kind, r.Model, r.Scenario)
}

// lose notes that a file of ours could not be written whole.
func (r *Record) lose(why error) {
	r.Reasons = append(r.Reasons, Cause{Code: "log_incomplete", Text: fmt.Sprintf("a log could not be written: %v", why)})
	if r.Verdict == Valid {
		r.Verdict = Invalid
	}
}

func (r *Record) has(code string) bool {
	for _, c := range r.Reasons {
		if c.Code == code {
			return true
		}
	}
	return false
}
