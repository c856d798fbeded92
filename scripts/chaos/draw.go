package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// struck is a fault of a scenario and the share of requests that it affects.
type struck struct {
	Name  string
	Rate  float64
	fault *fault
}

// scenario is one test, drawn from its seed.
type scenario struct {
	Seed     uint64
	Protocol protocol
	Client   string // loop, unix, https, https+http2, proxy or https+proxy
	Test     string // LoadGen's scenario
	Accuracy bool
	Stream   bool
	Batch    int // prompts in a request; 0: --offline-strategy batch is off
	Strategy string

	Rows, Queries        int
	QPS                  int
	Concurrency, Retries int
	Shards, Endpoints    int
	Balance              string
	NoPreflight, JSON    bool
	ExpectedLatency      bool
	MaxErrors            int // -1: not given
	FailFast             bool
	Further              []string // flags that must not affect the outcome
	Earlier              string   // --force or --resume over an earlier run; empty: the folder is new
	Audit                bool     // LoadGen reads an audit configuration

	Echo       bool // the server returns ids of requests
	NoUsage    bool // whether it counts no tokens
	Cumulative bool // SGLang repeats everything so far
	OneToken   float64
	Big        int // additional bytes of large prompts; 0: none
	Habits

	Faults   []struck
	Early    bool   // whether faults affect the preflight too
	Action   string // name of the action; empty: none
	ActionAt int    // number of the request in the timed phase that triggers it
}

// Habits that servers may have and clients must accept.
type Habits struct {
	Group      int  // most tokens in an event
	LateFinish bool // whether the finish reason has its own event
	NoDone     bool
	Comment    string
	DataField  string
	Extension  string // of chunk sizes
	Fields     []string
	Prelude    string // interim responses, as HTTP allows
	Framing    framing
	Pace       time.Duration // between the parts of an answer
	CloseEvery int           // the connection closes without notice after every so many answers; 0: never
	ConnLimit  int           // further connections are closed at once; 0: no limit
}

// pick draws one of a list.
func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// draw makes the scenario of a seed.
func draw(seed uint64) *scenario {
	r := rand.New(rand.NewPCG(seed, 1))
	sc := &scenario{Seed: seed, MaxErrors: -1}
	sc.Protocol = pick(r, protocols...)
	sc.Client = pick(r, "loop", "loop", "loop", "loop", "unix", "https", "https", "https", "https+http2", "proxy",
		"https+proxy")
	sc.Test = pick(r, "Offline", "Offline", "Server", "Server", "SingleStream")
	if sc.Test == "Server" && sc.Protocol.Model == idsModel && r.IntN(3) == 0 {
		sc.Test = "Interactive"
	}
	sc.Accuracy = r.IntN(3) == 0
	sc.drawLoad(r)
	sc.Echo = r.IntN(3) > 0
	sc.NoPreflight = r.IntN(10) == 0
	sc.Cumulative = r.IntN(2) == 0
	// SGLang's streams cannot be read without counts
	countless := sc.Protocol.openAI() || sc.Protocol.wire.kind == "sglang" && !sc.Stream
	sc.NoUsage = sc.Protocol.Ids && countless && r.IntN(8) == 0
	sc.JSON = r.IntN(2) == 0
	if r.IntN(25) == 0 {
		sc.OneToken = 0.05
	}
	sc.drawHabits(r)
	if sc.Protocol.Prompt == "text" && sc.Test == "Offline" && r.IntN(8) == 0 && !sc.http2() {
		sc.drawBig(r)
	}
	sc.drawFaults(r)
	sc.drawAction(r)
	sc.drawFurther(r)
	if r.IntN(8) == 0 {
		sc.Earlier = pick(r, "--force", "--resume")
	}
	sc.Audit = !sc.Accuracy && r.IntN(8) == 0
	return sc
}

// mustDraw are the faults and actions of which every series has a test, however short: ways to a false VALID.
var mustDraw = []string{"answer_of_another", "answer_twice", "another_model", "mixed_modes",
	"restart with another model"}

// seedsOf draws the seeds of a series of tests whose descriptions match. Its last tests are the next ones that have
// what is missing of mustDraw, unless the expression that they match leaves it out.
func seedsOf(seed uint64, runs int, match *regexp.Regexp) (seeds []uint64) {
	missing := mustDraw
	for i := uint64(0); len(seeds) < runs && i < 1e6; i++ {
		drawn := mix(seed, 1, i) >> 16 // short enough to be typed
		sc := draw(drawn)
		if !match.MatchString(sc.String()) {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(missing), sc.has)
		if len(left) < len(missing) || match.String() != "" || len(seeds)+len(missing) < runs {
			seeds, missing = append(seeds, drawn), left
		}
	}
	return seeds
}

// has reports whether a fault was drawn, or an action on the only server: with several, another may answer instead.
func (sc *scenario) has(name string) bool {
	return sc.Action == name && sc.Endpoints == 1 ||
		slices.ContainsFunc(sc.Faults, func(f struck) bool { return f.Name == name })
}

func (sc *scenario) drawLoad(r *rand.Rand) {
	sc.Rows = 12 + r.IntN(60)
	sc.Endpoints = pick(r, 1, 1, 1, 2, 3)
	sc.Balance = pick(r, "round-robin", "round-robin", "random", "least-inflight", "hash")
	sc.Retries = pick(r, 0, 0, 0, 1, 3)
	sc.Shards = pick(r, 1, 1, 1, 2)
	sc.Strategy = "window"
	sc.ExpectedLatency = r.IntN(3) > 0
	switch sc.Test {
	case "Offline":
		sc.Queries = 60 + r.IntN(240)
		sc.Concurrency = pick(r, 1, 2, 8, 16, 32)
		sc.Stream = r.IntN(2) == 0
		sc.Strategy = pick(r, "window", "window", "window", "all", "serial", "batch")
		if sc.Strategy == "batch" {
			if sc.Strategy = "window"; sc.Protocol.Batches {
				sc.Strategy, sc.Batch = "batch", 2+r.IntN(7)
			}
		}
	case "Server", "Interactive":
		sc.Queries = 520 // early stopping needs 512
		sc.QPS = 300 + r.IntN(400)
		sc.Stream = true
	default:
		sc.Queries = 70 + r.IntN(30)
		sc.Stream = true
	}
	if sc.Accuracy {
		sc.Rows += r.IntN(100)
		sc.Queries = sc.Rows
	}
}

// drawBig makes a few prompts that are larger than what sockets hold.
func (sc *scenario) drawBig(r *rand.Rand) {
	sc.Big, sc.Rows, sc.Queries, sc.Concurrency = 6<<20, 4, 10, pick(r, 1, 2, 4)
	if sc.Accuracy {
		sc.Queries = sc.Rows
	}
}

// drawFurther draws flags that must not affect the outcome.
func (sc *scenario) drawFurther(r *rand.Rand) {
	add := func(share int, when bool, words ...string) {
		if r.IntN(share) == 0 && when {
			sc.Further = append(sc.Further, words...)
		}
	}
	add(2, true, "--seed-override", fmt.Sprintf("%d,%d,%d", r.Uint32(), r.Uint32(), r.Uint32()))
	add(6, sc.paced(), "--server-coalesce-queries", "1")
	add(6, true, "--request-memory", "1KiB") // the requests lie in the scratch file
	add(6, true, "--coalesce-wakeups", "0")
	add(6, true, "--log-format", "json")
	add(6, !sc.JSON, "--quiet")
	add(6, len(sc.Faults) == 0 && sc.Action == "", "--warmup") // a fault of the warm-up would not concern any sample
}

// paced reports whether LoadGen issues by a schedule.
func (sc *scenario) paced() bool { return sc.Test == "Server" || sc.Test == "Interactive" }

func (sc *scenario) drawHabits(r *rand.Rand) {
	sc.Habits = Habits{Group: 1 + r.IntN(4), DataField: "data: "}
	sc.LateFinish = sc.Protocol.openAI() && r.IntN(3) == 0
	sc.NoDone = r.IntN(6) == 0 && sc.Protocol.wire.kind != "generate" // in that protocol [DONE] marks the end
	sc.Pace = pick(r, 0, 0, 100*time.Microsecond, time.Millisecond)
	if r.IntN(5) == 0 {
		sc.DataField = "data:"
	}
	if r.IntN(5) == 0 {
		sc.Comment = ": keep-alive\n\n"
	}
	if r.IntN(5) == 0 {
		sc.Extension = ";name=value"
	}
	if r.IntN(3) == 0 {
		sc.Fields = pick(r, []string{"Server: uvicorn", "Date: Mon, 01 Jan 2026 00:00:00 GMT"},
			[]string{"Keep-Alive: timeout=5, max=100"}, []string{"x-empty:", "VARY:  a , b "})
	}
	sc.Framing = pick(r, byChunks, byChunks, byChunks, byLength, byClose)
	if r.IntN(10) == 0 {
		sc.Prelude = pick(r, "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\n")
	}
	if r.IntN(4) == 0 {
		sc.CloseEvery = pick(r, 1, 2, 20)
	}
	if r.IntN(20) == 0 && sc.paced() {
		sc.ConnLimit = 4 + r.IntN(20)
	}
}

func (sc *scenario) drawFaults(r *rand.Rand) {
	n := pick(r, 0, 0, 1, 1, 1, 1, 2, 2, 4)
	requests := float64(sc.Queries) / float64(max(sc.Batch, 1))
	for i := range n {
		f := &faults[r.IntN(len(faults))]
		if sc.Big > 0 && i == 0 {
			f = &faults[slices.IndexFunc(faults, func(f fault) bool { return f.early })]
		}
		rate := max(pick(r, 0.002, 0.01, 0.03), 2/requests)
		if strings.HasPrefix(f.name, "silent") { // each waits for a deadline, in some tests in sequence
			rate = min(rate, 3/requests)
		}
		if f.spills && sc.http2() { // no byte outside an answer can reach another one
			continue
		}
		if f.can == nil || f.can(sc) {
			sc.Faults = append(sc.Faults, struck{f.name, min(rate, 1), f})
		}
	}
	if sc.Early = len(sc.Faults) > 0 && r.IntN(30) == 0; sc.Early && !strings.HasPrefix(sc.Faults[0].Name, "silent") {
		sc.Faults[0].Rate = 0.5
	}
	switch r.IntN(25) {
	case 0:
		sc.MaxErrors = r.IntN(3)
	case 1:
		sc.FailFast = true
	}
}

func (sc *scenario) drawAction(r *rand.Rand) {
	if r.IntN(10) < 7 {
		return
	}
	sc.Action = pick(r, actionNames()...)
	requests := sc.Queries / max(sc.Batch, 1)
	sc.ActionAt = 2 + r.IntN(max(1, requests/2))
}

// then returns what happens to the connection after a good answer.
func (sc *scenario) then(n int) after {
	if sc.CloseEvery > 0 && n%sc.CloseEvery == 0 {
		return hangUp
	}
	return keepOpen
}

// The six ways to a server.
func (sc *scenario) http2() bool     { return sc.Client == "https+http2" }
func (sc *scenario) tunnelled() bool { return sc.Client == "https+proxy" }
func (sc *scenario) tls() bool       { return strings.HasPrefix(sc.Client, "https") }
func (sc *scenario) proxied() bool   { return strings.HasSuffix(sc.Client, "proxy") }

// model is the benchmark's name in the registry.
func (sc *scenario) model() string {
	if sc.Test == "SingleStream" && sc.Protocol.Model == idsModel {
		return edgeModel
	}
	return sc.Protocol.Model
}

// Deadlines of a test: much longer than a good answer takes on a busy machine, and much shorter than the runner's
// patience.
const (
	firstTokenTimeout = 3 * time.Second
	requestTimeout    = 6 * time.Second
)

// args returns the program's arguments for the URLs of the servers and the address of the proxy.
func (sc *scenario) args(folder string, urls []string, proxy, ca string) []string {
	list := []string{
		"run", "--no-progress", "--model", sc.model(), "--scenario", sc.Test, "--backend", sc.Protocol.Backend, "--api",
		sc.Protocol.API,
		"--served-model", servedModel, "--dataset", filepath.Join(folder, "rows.jsonl"), "--output-dir",
		filepath.Join(folder, runFolder),
		"--endpoint", strings.Join(urls, ","), "--lb", sc.Balance, "--min-duration", "0", "--min-queries",
		strconv.Itoa(sc.Queries),
		"--max-tokens", strconv.Itoa(maxTokens), "--retries", strconv.Itoa(sc.Retries), "--shards", strconv.Itoa(sc.Shards),
		"--first-token-timeout", firstTokenTimeout.String(), "--token-timeout", firstTokenTimeout.String(),
		"--request-timeout", requestTimeout.String(),
		"--connect-timeout", "3s", "--endpoint-timeout", "3s", "--drain-timeout", "15s",
	}
	add := func(when bool, words ...string) {
		if when {
			list = append(list, words...)
		}
	}
	add(sc.JSON, "--json")
	add(sc.Accuracy, "--mode", "accuracy", "--no-score")
	add(sc.Test == "Offline", "--offline-strategy", sc.Strategy)
	add(sc.Test == "Offline" && (sc.Strategy == "window" || sc.Strategy == "batch"), "--concurrency",
		strconv.Itoa(sc.Concurrency))
	add(sc.Test == "Offline" && sc.Stream, "--stream")
	add(sc.Batch > 0, "--batch-size", strconv.Itoa(sc.Batch))
	add(sc.paced(), "--target-qps", strconv.Itoa(sc.QPS), "--ttft-limit", "30s", "--tpot-limit", "10s")
	add(sc.Test == "SingleStream" && (sc.ExpectedLatency || sc.NoPreflight), "--expected-latency", "10ms")
	add(sc.NoPreflight, "--no-preflight-query")
	add(sc.MaxErrors >= 0, "--max-errors", strconv.Itoa(sc.MaxErrors))
	add(sc.FailFast, "--fail-fast")
	add(sc.tls(), "--ca-file", ca)
	add(sc.http2(), "--http2")
	add(sc.proxied(), "--proxy", proxy)
	add(sc.Earlier != "", sc.Earlier)
	add(sc.Audit, "--audit-config", filepath.Join(folder, auditFile))
	return append(list, sc.Further...)
}

// String describes the scenario in a few words.
func (sc *scenario) String() string {
	mode, kind := "performance", "whole"
	if sc.Accuracy {
		mode = "accuracy"
	}
	if sc.Stream {
		kind = "stream"
	}
	text := fmt.Sprintf("%s %s %s %s, %s %s, %s x%d, %d rows %d queries", sc.Protocol.Backend, sc.Protocol.API, sc.model(),
		kind, sc.Test, mode, sc.Client, sc.Endpoints, sc.Rows, sc.Queries)
	add := func(when bool, format string, args ...any) {
		if when {
			text += ", " + fmt.Sprintf(format, args...)
		}
	}
	add(sc.Batch > 0, "batches of %d", sc.Batch)
	add(sc.Retries > 0, "%d retries", sc.Retries)
	add(!sc.Echo && sc.Protocol.Echo, "no ids")
	add(sc.NoUsage, "no usage")
	add(sc.Big > 0, "prompts of %d MiB", sc.Big>>20)
	add(sc.OneToken > 0, "answers of one token")
	for _, f := range sc.Faults {
		add(true, "%s %.3g", f.Name, f.Rate)
	}
	add(sc.Early, "from the preflight on")
	add(sc.Action != "", "%s at %d", sc.Action, sc.ActionAt)
	add(sc.MaxErrors >= 0, "--max-errors %d", sc.MaxErrors)
	add(sc.FailFast, "--fail-fast")
	add(sc.Earlier != "", "%s over an earlier run", sc.Earlier)
	add(sc.Audit, "audit")
	return text
}
