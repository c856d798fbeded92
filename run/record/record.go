package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Schema identifies the format of run.json, which schema/run.schema.json describes.
const Schema = "mlperf-go/run/1"

// Verdict is the judgement of a run.
type Verdict string

// The verdicts of a run.
const (
	Valid       Verdict = "VALID"
	Invalid     Verdict = "INVALID"
	Interrupted Verdict = "INTERRUPTED"
)

// Cause is one cause of a verdict other than VALID.
type Cause struct {
	Code  Code   `json:"code"`
	Text  string `json:"text"`
	Value any    `json:"value,omitempty"`
	Limit any    `json:"limit,omitempty"`
}

// LimitsClient reports whether this machine, and not the server, limited the load.
func (c Cause) LimitsClient() bool {
	return c.Code == CodeClientLag || c.Code == CodeLocalPorts || c.Code == CodeOpenFiles
}

// SimulatorReason is why a run is a rehearsal whose server is the simulator.
const SimulatorReason = "the server is the simulator"

// Record is run.json.
type Record struct {
	Schema           string         `json:"schema"`
	Rehearsal        bool           `json:"rehearsal"`
	RehearsalReasons []string       `json:"rehearsal_reasons,omitempty"`
	Tool             Tool           `json:"tool"`
	Host             hostinfo.Facts `json:"host"`
	// EnvironmentFolder; empty in records of probes
	Environment  string   `json:"environment,omitempty"`
	Command      []string `json:"command"`
	Model        string   `json:"model"`
	LoadGenModel string   `json:"loadgen_model"`
	ServedModel  string   `json:"served_model"`
	// the round whose limits, counts, targets and seeds apply (--seed-override replaces the seeds)
	Round    string `json:"round"`
	Scenario string `json:"scenario"`
	Mode     string `json:"mode"`
	Backend  string `json:"backend"`
	// why this backend was chosen
	BackendChoice *BackendChoice `json:"backend_choice,omitempty"`
	Started       time.Time      `json:"started"`
	// of the first query; the request log counts from there; zero: none was issued
	FirstIssue time.Time `json:"first_issue,omitzero"`
	DurationS  float64   `json:"duration_s"` // time from first issue to last completion, in seconds
	Verdict    Verdict   `json:"verdict"`
	Reasons    []Cause   `json:"reasons"`
	Notes      []string  `json:"notes,omitempty"`

	LoadGen    LoadGenResult     `json:"loadgen"`
	Samples    SampleCounts      `json:"samples"`
	Tokens     TokenCounts       `json:"tokens"`
	Throughput ledger.Throughput `json:"throughput"`
	LatencyS   Latencies         `json:"latency_s"`
	Answers    Answers           `json:"answers"`
	Client     Client            `json:"client"`
	Endpoints  []EndpointCounts  `json:"endpoints"`
	Servers    *servers.Facts    `json:"servers,omitempty"`        // with --server-dir
	Profile    *ProfiledWindow   `json:"profile,omitempty"`        // with --profile-window
	Metrics    *ServerMetrics    `json:"server_metrics,omitempty"` // with --metrics
	Dataset    DatasetFacts      `json:"dataset"`
	Tokenizer  *finder.Source    `json:"tokenizer,omitempty"` // counted tokens in place of the server, or again after it
	Sampling   map[string]any    `json:"sampling"`
	Breaches   []Breach          `json:"breaches,omitempty"` // settings that the closed division does not allow
	Accuracy   *Score            `json:"accuracy,omitempty"` // of an accuracy test
	// the values of --percentiles
	Percentiles *Percentiles `json:"latency_percentiles_s,omitempty"`
	// of a Server test: its limits against LoadGen's early-stopping criterion
	Tails []Tail            `json:"tails,omitempty"`
	Files map[string]string `json:"files"`
}

// BackendChoice is how the backend of a run was chosen.
type BackendChoice struct {
	Backend string        `json:"backend"`
	Auto    bool          `json:"auto"` // whether the user left the choice to the run
	Why     string        `json:"why"`
	Servers []ShownServer `json:"servers,omitempty"` // empty if the servers were not asked
	Notes   []string      `json:"-"`                 // in the notes of the run
}

// ShownServer is what the routes of an endpoint report about its server.
type ShownServer struct {
	URL       string   `json:"url"`
	Backends  []string `json:"backends"` // kinds that all signs allow
	Signs     []string `json:"signs"`
	Version   string   `json:"version,omitempty"`
	Simulator bool     `json:"simulator,omitempty"` // whether the server is this program's simulator
}

// LoadGenResult is what LoadGen's own logs contain.
type LoadGenResult struct {
	Valid    *bool          `json:"valid"` // null in accuracy mode, and where LoadGen logged no verdict
	Complete bool           `json:"complete"`
	Errors   int            `json:"errors"`
	Warnings int            `json:"warnings"`
	Missing  []string       `json:"missing,omitempty"`
	Result   map[string]any `json:"result"`
}

// SampleCounts are the numbers of samples by outcome.
type SampleCounts struct {
	Issued         int64                   `json:"issued"`
	Completed      int64                   `json:"completed"` // number of samples that ended, successful or failed
	Failed         int64                   `json:"failed"`
	Retried        int64                   `json:"retried"`
	FirstTokens    int64                   `json:"first_tokens"`
	Empty          int64                   `json:"empty"`
	FailureRate    float64                 `json:"failure_rate"`
	FailedByReason map[ledger.Reason]int64 `json:"failed_by_reason"`
}

// Answers is how answers were matched with requests.
type Answers struct {
	// Identified: every endpoint returned the id of each request in its answer, and the client compared them.
	Identified bool  `json:"identified"`
	Unasked    int64 `json:"unasked"` // number of answers on connections without a request in flight
	Strays     int64 `json:"strays"`  // number of times that other bytes arrived on such a connection
}

// TokenCounts are the tokens of successful samples.
type TokenCounts struct {
	Input      int64              `json:"input"`
	Output     int64              `json:"output"`
	Source     ledger.TokenSource `json:"source"` // several are joined with +
	Mismatches int64              `json:"mismatches"`
	Events     int64              `json:"events"`        // number of stream events that contained tokens
	Merged     int64              `json:"merged_events"` // number of these events with more than one token

	// of an accuracy test whose tokens the server counted, with --tokenizer
	Recount *Recount `json:"recount,omitempty"`
}

// Latencies are in seconds, from successful samples; null: no values.
type Latencies struct {
	TTFT  *ledger.Stats `json:"ttft"`
	TPOT  *ledger.Stats `json:"tpot"`
	ITL   *ledger.Stats `json:"itl"` // from a histogram with 0.8 % error; mean and max are exact
	E2E   *ledger.Stats `json:"e2e"`
	NTPOT *ledger.Stats `json:"ntpot"`
}

// NewLatencies returns the latencies of a test: its metrics, and the ITL from the ledger's histogram.
func NewLatencies(m *ledger.Metrics, itl *ledger.Stats) Latencies {
	return Latencies{TTFT: m.TTFT, TPOT: m.TPOT, ITL: itl, E2E: m.E2E, NTPOT: m.NTPOT}
}

// EndpointCounts are the requests of one endpoint.
type EndpointCounts struct {
	URL         string      `json:"url"`
	Requests    int64       `json:"requests"`
	Failed      int64       `json:"failed"`
	Retried     int64       `json:"retried"`
	Connections int64       `json:"connections"` // number of opened connections; 0 if the backend does not count them
	Excluded    int64       `json:"excluded"`    // number of times that it was excluded as unreachable
	PrefixCache PrefixCache `json:"prefix_cache,omitempty"`
}

// DatasetFacts identify the data set.
type DatasetFacts struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Samples int    `json:"samples"`
}

// ExitCode returns the exit code of the program for the record.
func (r *Record) ExitCode() int {
	switch {
	case r.Verdict == Valid:
		return exit.StatusValid
	case r.Has(CodeLogIncomplete):
		return exit.StatusEnvironment
	default:
		return exit.StatusInvalid
	}
}

// ValidBut reports whether the run is VALID, or INVALID only for reasons with the given codes.
func (r *Record) ValidBut(codes ...Code) bool {
	return r.Verdict == Valid || r.Verdict == Invalid && len(r.Reasons) > 0 &&
		!slices.ContainsFunc(r.Reasons, func(c Cause) bool { return !slices.Contains(codes, c.Code) })
}

// Has reports whether the verdict has a reason with the code.
func (r *Record) Has(code Code) bool {
	return slices.ContainsFunc(r.Reasons, func(c Cause) bool { return c.Code == code })
}

// Audit reports whether LoadGen was given an audit configuration. Such a test is no performance result: its verdict
// ignores LoadGen's, and the audit sets its counts, order and samples.
func (r *Record) Audit() bool {
	_, given := r.Files[AuditName]
	return given
}

// LogOnly reports whether the record is of an accuracy test whose answers were not to be scored.
func (r *Record) LogOnly() bool { return r.Accuracy != nil && r.Accuracy.NotScored == LogOnly }

// conditions are LoadGen's conditions of VALID by their keys in the detail log.
var conditions = []struct{ key, text string }{
	{"result_perf_constraints_met", "the latency limits"},
	{"result_min_duration_met", "the minimum duration"},
	{"result_min_queries_met", "the minimum of queries"},
	{"early_stopping_met", "early stopping"},
}

// Overruled returns a sentence that explains why INVALID in LoadGen's own summary does not count, or "" if it
// counts or the summary does not contain it.
func (r *Record) Overruled() string {
	if !r.Audit() || r.Verdict != Valid || r.LoadGen.Valid == nil || *r.LoadGen.Valid {
		return ""
	}
	var unmet []string
	for _, c := range conditions {
		if r.LoadGen.Result[c.key] == false {
			unmet = append(unmet, c.text)
		}
	}
	text := "LoadGen's own summary reports INVALID"
	if len(unmet) > 0 {
		text += " (" + strings.Join(unmet, ", ") + ")"
	}
	return text + ": that does not count, because an audit sets counts and durations of its own and is judged by its " +
		"verification"
}

// Test returns a short description of the test.
func (r *Record) Test() string {
	kind := r.Mode
	if r.Audit() {
		kind = "an audit"
	}
	return fmt.Sprintf("%s of %s, %s", kind, r.Model, r.Scenario)
}

// Lose adds the reason that a file of the run's folder could not be written completely. It turns VALID into INVALID.
func (r *Record) Lose(why error) {
	r.Reasons = append(r.Reasons, Cause{Code: CodeLogIncomplete, Text: fmt.Sprintf("a log could not be written: %v", why)})
	if r.Verdict == Valid {
		r.Verdict = Invalid
	}
}

// Breach is a setting that the closed division does not allow.
type Breach struct {
	Code     string `json:"code"`
	Sent     string `json:"sent"` // "nothing" if the field is not sent
	Required string `json:"required"`
	Source   string `json:"source"`
}

// nothing is the value of a field that is not sent or has no rule.
const nothing = "nothing"

// NewBreach returns a breach; an empty value is a field that is not sent, or that the rules do not have.
func NewBreach(code, sent, required, source string) Breach {
	return Breach{code, cmp.Or(sent, nothing), cmp.Or(required, nothing), source}
}

// Missing reports whether the breach is a field that is not sent.
func (b Breach) Missing() bool { return b.Sent == nothing }

// Text returns one sentence without the source.
func (b Breach) Text() string {
	return fmt.Sprintf("%s: %s is sent, and the closed division requires %s", b.Code, b.Sent, b.Required)
}

// String returns one sentence with the source.
func (b Breach) String() string { return b.Text() + " (" + b.Source + ")" }

// ScenarioReasons are the reasons of one test, or of all tests of a scenario.
type ScenarioReasons struct {
	Scenario string
	Reasons  []string
}

// JoinReasons returns the reasons of several tests, each once. A reason that not all scenarios have begins with the
// names of those that have it. So does one that differs from another reason in its numbers only.
func JoinReasons(tests []ScenarioReasons) []string {
	var scenarios, texts []string
	having := map[string][]string{} // scenarios, by reason
	variants := map[string]int{}    // reasons, by their text without numbers
	for _, t := range tests {
		if !slices.Contains(scenarios, t.Scenario) {
			scenarios = append(scenarios, t.Scenario)
		}
		for _, text := range t.Reasons {
			if having[text] == nil {
				texts = append(texts, text)
				variants[withoutNumbers(text)]++
			}
			if !slices.Contains(having[text], t.Scenario) {
				having[text] = append(having[text], t.Scenario)
			}
		}
	}
	for i, text := range texts {
		if of := having[text]; len(of) < len(scenarios) || len(of) > 1 && variants[withoutNumbers(text)] > 1 {
			texts[i] = strings.Join(of, ", ") + ": " + text
		}
	}
	return texts
}

func withoutNumbers(text string) string {
	isDigit := func(r rune) bool { return r >= '0' && r <= '9' }
	return strings.Join(strings.FieldsFunc(text, isDigit), "#")
}

// BreachTexts returns a sentence for each breach. Only the last one of a source names it.
func BreachTexts(breaches []Breach) []string {
	var texts []string
	for i, b := range breaches {
		if i+1 < len(breaches) && breaches[i+1].Source == b.Source {
			texts = append(texts, b.Text())
		} else {
			texts = append(texts, b.String())
		}
	}
	return texts
}
