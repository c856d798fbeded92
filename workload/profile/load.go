package profile

import "time"

// Arrival is how the requests of a stage become due.
type Arrival string

// The arrivals.
const (
	// Constant requests are due at multiples of 1/rate.
	Constant Arrival = "constant"
	// Poisson requests have independent exponential gaps with mean 1/rate.
	Poisson Arrival = "poisson"
	// Gamma requests have independent gaps of a Gamma distribution with mean 1/rate and shape Burstiness: 1 is Poisson,
	// larger is more regular, smaller is burstier.
	Gamma Arrival = "gamma"
	// Scattered requests are due at uniformly random instants of the stage's duration: Poisson with a known count. It is
	// what inference-perf calls constant.
	Scattered Arrival = "scattered"
	// PoissonSeconds draws a Poisson count for each second and scatters that many requests in it, until the stage's
	// number of requests is reached. It is what inference-perf calls poisson.
	PoissonSeconds Arrival = "poisson-seconds"
	// Burst requests are all due when the stage starts; Concurrency, if positive, bounds how many are in flight. With a
	// ramp, the first Concurrency requests are due in equal gaps over its length, and all others at its end.
	Burst Arrival = "burst"
	// Closed keeps Concurrency requests in flight: each user sends its next one ThinkTime after the last answer.
	Closed Arrival = "closed"
	// Trace requests are due at the recorded times of Load.Trace.
	Trace Arrival = "trace"
	// Sessions replays whole sessions: Concurrency of them at a time, started at Rate sessions a second if positive.
	Sessions Arrival = "sessions"
)

// Values returns all arrivals.
func (Arrival) Values() []string {
	return []string{"constant", "poisson", "gamma", "scattered", "poisson-seconds", "burst", "closed", "trace", "sessions"}
}

// Load defines when requests are sent.
type Load struct {
	Stages    []Stage       `yaml:"stages,omitempty" doc:"one after the other; each drains before the next starts"`
	Sweep     *Sweep        `yaml:"sweep,omitempty" doc:"in place of stages: finds their rates"`
	Pause     time.Duration `yaml:"pause,omitempty" doc:"between two stages"`
	Warmup    Window        `yaml:"warmup,omitempty" doc:"start of each stage that its figures leave out"`
	Cooldown  Window        `yaml:"cooldown,omitempty" doc:"end of each stage that its figures leave out"`
	InFlight  int           `yaml:"max_in_flight,omitempty" is:">=0" doc:"requests in flight at most; 0: no limit"`
	Trace     *TraceFile    `yaml:"trace,omitempty" doc:"recorded arrival times, for stages with arrival trace"`
	Leave     *Leave        `yaml:"leave,omitempty" doc:"clients that hang up before the end of their answer"`
	Slow      *Slow         `yaml:"slow,omitempty" doc:"clients that read slowly"`
	MaxErrors int           `yaml:"max_errors,omitempty" is:">=0" doc:"failures that end a stage; 0: no limit"`
	ErrorRate float64       `yaml:"max_error_rate,omitempty" is:"0..1" doc:"ratio of failures that ends a stage; 0: none"`
	Breakers  []Breaker     `yaml:"breakers,omitempty" doc:"rules that end a stage early"`
	// Saturation applies to each stage, but not to the probes of a sweep.
	Saturation *Saturation `yaml:"over_saturation,omitempty" doc:"ends a stage whose requests pile up in the server"`
}

// Leave makes the clients of some requests close their connections before the end, at the first limit that is
// reached.
type Leave struct {
	Share  float64       `yaml:"share" is:"0..1" need:"yes" doc:"of all requests, chosen by the seed"`
	Tokens *Distribution `yaml:"tokens,omitempty" doc:"output tokens after which a client leaves"`
	After  *Distribution `yaml:"after,omitempty" doc:"seconds after sending at which a client leaves"`
}

// Slow makes the clients of some requests read slowly, so that the server's buffers fill.
type Slow struct {
	Share float64       `yaml:"share" is:"0..1" need:"yes" doc:"of all requests, chosen by the seed"`
	Rate  *Distribution `yaml:"tokens_per_s,omitempty" doc:"output tokens a second that a client reads at most"`
	Pause *Distribution `yaml:"pause,omitempty" doc:"seconds that a client pauses after each read with tokens"`
}

// Stage is one phase of the load. Which keys a stage needs depends on its arrival; Validate checks it.
type Stage struct {
	Name    string  `yaml:"name,omitempty" doc:"for reports"`
	Arrival Arrival `yaml:"arrival" need:"yes" doc:"how requests become due"`
	// Rate is requests a second; sessions a second where the arrival is sessions.
	Rate        float64       `yaml:"rate,omitempty" is:">=0" doc:"requests, or sessions, a second"`
	Duration    time.Duration `yaml:"duration,omitempty" doc:"of the schedule, without the last answers"`
	Requests    int           `yaml:"requests,omitempty" is:">=0" doc:"requests, or sessions, of the stage"`
	Concurrency int           `yaml:"concurrency,omitempty" is:">=0" doc:"requests (or sessions) in flight"`
	Burstiness  float64       `yaml:"burstiness,omitempty" is:">=0" doc:"shape of the gaps of arrival gamma"`
	Rescale     bool          `yaml:"rescale,omitempty" doc:"stretch random gaps to end at requests/rate"`
	ThinkTime   *Distribution `yaml:"think_time,omitempty" doc:"seconds from an answer to the user's next request"`
	Ramp        *Ramp         `yaml:"ramp,omitempty" doc:"rate, users or requests that grow at the start"`
	Timeout     time.Duration `yaml:"timeout,omitempty" doc:"after which the stage ends, failed; 0: none"`
	Warmup      bool          `yaml:"warmup,omitempty" doc:"the whole stage is warm-up and enters no total"`
}

// Ramp grows the rate of an open stage, the users of a closed one, or the requests in flight of a burst, from the
// stage's start.
type Ramp struct {
	Shape string        `yaml:"shape" one:"linear exponential" need:"yes" doc:"growth of the rate over time"`
	From  float64       `yaml:"from,omitempty" is:">=0" doc:"rate at the start; a linear ramp may start at 0"`
	To    float64       `yaml:"to,omitempty" is:">=0" doc:"rate at the end; 0: the stage's rate"`
	Over  time.Duration `yaml:"over,omitempty" doc:"length of the ramp; 0: the whole stage"`
}

// Sweep measures stages between the lowest load and saturation.
type Sweep struct {
	Kind string `yaml:"kind" one:"linear geometric" need:"yes" doc:"spacing; geometric: dense at the top"`
	// Arrival is that of the stages.
	Arrival Arrival `yaml:"arrival,omitempty" one:"constant poisson scattered poisson-seconds" doc:"empty: constant"`

	Stages        int           `yaml:"stages,omitempty" is:"1..1000" doc:"number of rates; 0: 5"`
	StageDuration time.Duration `yaml:"stage_duration" need:"yes" doc:"of each"`
	Probe         string        `yaml:"probe,omitempty" one:"drain throughput" doc:"how saturation is found; empty: drain"`
	Ramp          time.Duration `yaml:"ramp,omitempty" doc:"in which the users of probe throughput start"`
	Requests      int           `yaml:"requests,omitempty" is:">=0" doc:"of the probe's burst"`
	Timeout       time.Duration `yaml:"timeout,omitempty" doc:"of the probe"`
	Percentile    float64       `yaml:"percentile,omitempty" is:"0..100" doc:"of the drain rates: saturation"`
	InFlight      int           `yaml:"max_in_flight,omitempty" is:">=0" doc:"of probe throughput (0: 512) and stages"`
}

// Window is the part of a stage that its figures leave out. The first limit that is reached ends it.
type Window struct {
	Requests int           `yaml:"requests,omitempty" is:">=0" doc:"number of requests"`
	Duration time.Duration `yaml:"duration,omitempty" doc:"time"`
	Share    float64       `yaml:"share,omitempty" is:"0..1" doc:"share of the stage"`
}

// TraceFile is a file with arrival times, lengths, or both.
type TraceFile struct {
	Path   string  `yaml:"path" need:"yes" doc:"file"`
	Format string  `yaml:"format" one:"azure mooncake burstgpt jsonl" need:"yes" doc:"whose columns it has"`
	Scale  float64 `yaml:"scale,omitempty" is:">=0" doc:"factor of its times; 0 means 1"`
}

// Breaker ends a stage as failed when there are too many errors of the matching kind.
type Breaker struct {
	Name        string        `yaml:"name" need:"yes" doc:"for the message"`
	Match       []string      `yaml:"match,omitempty" doc:"failure codes or HTTP status; empty: every failure"`
	Consecutive int           `yaml:"consecutive,omitempty" is:">=0" doc:"failures in a row"`
	Rate        float64       `yaml:"rate,omitempty" is:"0..1" doc:"ratio of failures within the window"`
	Window      time.Duration `yaml:"window,omitempty" doc:"of the ratio"`
	MinRequests int           `yaml:"min_requests,omitempty" is:">=0" doc:"before the ratio counts"`
}
