package peers

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// Request is what happened to one request. Times are wall clock in ns since 1970; 0: it did not happen, or was not
// recorded.
type Request struct {
	DueNS        int64   // when it was due
	SentNS       int64   // an attempt wrote it for the first time
	FirstByteNS  int64   // of the answer
	ChoiceNS     int64   // first event of a stream that has a choice, if it came before the first token
	FirstTokenNS int64   // of a stream
	VisibleNS    int64   // first token that is not reasoning
	LastTokenNS  int64   // last token of a stream
	EndNS        int64   // end of the answer, or of the failed request
	TokenNS      []int64 // arrival of each event with tokens; nil: not recorded
	Tokens       []int   // of each event in TokenNS; nil: one each
	Events       int     // events of a stream that contained tokens; 0: not recorded
	InputTokens  int     // 0: unknown
	CachedTokens int     // of InputTokens, in the server's prefix cache; see HasCached
	HasCached    bool    // the server reported CachedTokens
	OutputTokens int
	Failure      string // cause; empty: success
	Cancelled    bool   // whether the client ended it, which is not an error of the server
	Adapter      string // the LoRA adapter that answered; empty: none
	RequestBytes int    // of the request's body
	Stage        int    // index in Log.Stages
	Session      int    // from 1; 0: none
	Turn         int    // within the session, from 0
	LeftOut      bool   // sent in a warm-up or a cool-down, which no total counts
	Retries      int    // attempts after the first one
}

// Log is the input of every format.
type Log struct {
	Tool     string // program and version
	ID       string // of the run
	Started  time.Time
	Model    string // as the server calls it
	Backend  string // protocol
	Endpoint string
	// Stages are what was asked for, at least one.
	Stages   []Stage
	Requests []Request
	// HasVisible is set if VisibleNS is recorded. A stream without it then is all reasoning.
	HasVisible bool
	Limits     []Limit // of a good request
	Asked      Asked
}

// Asked is what a client was asked to write.
type Asked struct {
	Percentiles []float64 // of each metric of vllm and inference-perf; nil: those that these formats have otherwise
	Metrics     []string  // of vllm, in its words; nil: those that a request has
	Requests    bool      // the data of each request too, which vllm and inference-perf do not write otherwise
	// AdapterStages asks inference-perf for a file of each adapter in each stage.
	AdapterStages bool
}

// Limit is a limit of a figure of each request.
type Limit struct {
	Metric string // ttft, tpot, itl, ntpot or e2e
	Below  time.Duration
}

// Stage is a part of a run with a load of its own.
type Stage struct {
	RatePerS    float64 // 0: as fast as Concurrency allows
	Poisson     bool    // arrivals at RatePerS are random; otherwise they are equidistant
	Burstiness  float64 // shape of the random gaps; 0: 1, those of a Poisson process
	Concurrency int     // 0: not limited
	Warmup      bool    // the whole stage is warm-up: all its requests are left out
	Burst       bool    // all requests are due at the start
	Stopped     bool    // it ended early
	Unsent      int     // requests that it did not send because it ended early
	Probe       string  // name of a stage that looked for the limits of a sweep, and is left out of every total
}

// Export is a run in a format.
type Export struct {
	Files []File
	Notes []string // what the log did not contain
}

// File is a file of an export. A file with a part for each request has no Data and is written piece by piece.
type File struct {
	Name   string
	Data   []byte
	stream func(*bufio.Writer) error // nil: Data is the file
}

// Write writes the file.
func (f *File) Write(w io.Writer) error {
	if f.stream == nil {
		_, err := w.Write(f.Data)
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if err := f.stream(out); err != nil {
		return err
	}
	return out.Flush()
}

// format writes a log. repeats is a note for logs with repeated requests, whose number it contains.
type format struct {
	name    string
	write   func(*Log, *Export) error
	repeats string
	isWhole bool // write gets the warm-up too, for stages that have files of their own
}

// repeatsNone is the note of clients that repeat no request (docs/reference/peers.md#repeated-requests).
const repeatsNone = "%s by the last attempt, from the first sending; this client repeats none, and would count the " +
	"failure of the first attempt"

var formats = []format{
	{"vllm", writeVLLM, repeatsNone, false}, {"guidellm", writeGuideLLM, repeatsNone, true},
	{"aiperf", writeAIPerf, repeatsNone, false},
	{"inference-perf", writeInferencePerf, "%s in retries; the log has no start of the last attempt: wasted_sec and " +
		"wasted_sec_total are left out", true},
}

// Formats returns the names of the formats.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Convert returns a log in a format of Formats.
func Convert(name string, l *Log) (*Export, error) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown format %q: use one of %v", name, Formats())
	}
	if len(l.Requests) == 0 || len(l.Stages) == 0 {
		return nil, fmt.Errorf("the log has no requests, of which a file for %s could be made", name)
	}
	e := &Export{}
	measured := l.measured()
	if n := len(l.Requests) - len(measured.Requests); n > 0 {
		e.note("the totals leave out %s of warm-up and cool-down", plural.Count(int64(n), "request", "requests"))
	}
	if len(measured.Requests) == 0 {
		return nil, fmt.Errorf("all %d requests of the log belong to warm-up or cool-down, which files for %s do not count",
			len(l.Requests), name)
	}
	if !formats[i].isWhole {
		l = measured
	}
	if err := formats[i].write(l, e); err != nil {
		return nil, fmt.Errorf("the files of %s: %w", name, err)
	}
	if n := len(l.which((*Request).isRepeated)); n > 0 {
		e.note(formats[i].repeats, plural.Count(int64(n), "repeated request counts", "repeated requests count"))
	}
	return e, nil
}

// measured returns the log without warm-up and cool-down.
func (l *Log) measured() *Log {
	if !slices.ContainsFunc(l.Requests, func(r Request) bool { return r.LeftOut }) {
		return l
	}
	m := *l
	m.Requests = nil
	for i := range l.Requests {
		if !l.Requests[i].LeftOut {
			m.Requests = append(m.Requests, l.Requests[i])
		}
	}
	return &m
}

// isRepeated reports whether a request had more than one attempt.
func (r *Request) isRepeated() bool { return r.Retries > 0 }

// ok reports whether the request was answered.
func (r *Request) ok() bool { return r.EndNS != 0 && r.Failure == "" && !r.Cancelled }

// incomplete reports whether the request was ended by the client.
func (r *Request) incomplete() bool { return r.EndNS == 0 || r.Cancelled }

// startNS returns the time from which all these clients count: the sending, or when it was due if nothing was sent.
func (r *Request) startNS() int64 {
	if r.SentNS != 0 {
		return r.SentNS
	}
	return r.DueNS
}

// endNS returns the end of the request, or its start if it has none.
func (r *Request) endNS() int64 { return max(r.EndNS, r.startNS()) }

// lastNS returns the time of the last token, or the end of an answer that was not streamed.
func (r *Request) lastNS() int64 {
	if r.LastTokenNS != 0 {
		return r.LastTokenNS
	}
	return r.endNS()
}

// events returns the number of events with tokens; one per token if it was not recorded.
func (r *Request) events() int {
	switch {
	case r.FirstTokenNS == 0:
		return 0
	case r.TokenNS != nil:
		return len(r.TokenNS)
	case r.Events > 0:
		return r.Events
	}
	return r.OutputTokens
}

// content returns the time of the first token that is not reasoning, and the number of tokens from it on. It is the
// whole answer if the log does not tell reasoning apart.
func (r *Request) content() (firstNS int64, n int) {
	if r.TokenNS == nil {
		return r.FirstTokenNS, r.OutputTokens
	}
	n = r.OutputTokens
	for i := range r.TokenNS[:r.reasoning()] {
		n -= r.tokensOf(i)
	}
	return r.VisibleNS, max(n, 0)
}

// reasoning returns the number of events before the first token that is not reasoning.
func (r *Request) reasoning() int {
	if r.VisibleNS == 0 {
		return len(r.TokenNS)
	}
	i, _ := slices.BinarySearch(r.TokenNS, r.VisibleNS)
	return i
}

// tokensOf returns the tokens of an event.
func (r *Request) tokensOf(event int) int {
	if r.Tokens == nil {
		return 1
	}
	return r.Tokens[event]
}

// hasTokenTimes reports whether the log has the time of each event of every stream.
func (l *Log) hasTokenTimes() bool {
	streams := false
	for i := range l.Requests {
		if r := &l.Requests[i]; r.ok() && r.FirstTokenNS != 0 {
			if streams = true; r.TokenNS == nil {
				return false
			}
		}
	}
	return streams
}

// hasCached reports whether the server reported cached tokens of a request.
func (l *Log) hasCached() bool {
	return slices.ContainsFunc(l.Requests, func(r Request) bool { return r.HasCached })
}

// isStream reports whether an answer came as a stream.
func (l *Log) isStream() bool {
	return slices.ContainsFunc(l.Requests, func(r Request) bool { return r.FirstTokenNS != 0 })
}

// extent returns the earliest start and the latest end of requests.
func extent(requests []*Request) (startNS, endNS int64) {
	for i, r := range requests {
		if i == 0 || r.startNS() < startNS {
			startNS = r.startNS()
		}
		endNS = max(endNS, r.endNS())
	}
	return startNS, endNS
}

// which returns the requests that a condition selects.
func (l *Log) which(is func(*Request) bool) []*Request {
	var list []*Request
	for i := range l.Requests {
		if r := &l.Requests[i]; is(r) {
			list = append(list, r)
		}
	}
	return list
}

func all(*Request) bool { return true }

// cancelled is the cause of a request that the client ended, in the words of several clients.
const cancelled = "cancelled"

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// note adds a note about missing data.
func (e *Export) note(format string, args ...any) {
	e.Notes = append(e.Notes, fmt.Sprintf(format, args...))
}

// noteTokenTimes notes the effects of a log without the time of each token.
func (e *Export) noteTokenTimes(l *Log, follows string) {
	if l.isStream() && !l.hasTokenTimes() {
		e.note("the log has no time of each token: %s", follows)
	}
}

// fileWord returns a name that is safe as a part of a file's name.
func fileWord(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return c
		}
		return '_'
	}, name[:min(len(name), 100)])
}
