package measure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// request is the formulas' view of a request.
type request = eventlog.Request

// formula returns a figure of a request in seconds, and its weight. ok is false if the request has no such figure.
type formula func(r *request) (seconds, weight float64, ok bool)

// gaps calls each with every gap of a request, in seconds, and how often it counts.
type gaps func(r *request, each func(seconds float64, times int))

// Metric is one latency of a definition.
type Metric struct {
	Name string // key of Figures.Latency
	Help string
	of   formula
	gaps gaps // in place of of: several values of one request
}

// rule is how to find a percentile in sorted values.
type rule uint8

const (
	nearest    rule = iota // element trunc(n·p), as LoadGen
	linear                 // between the elements around p·(n−1), as numpy
	cumulative             // first value at which the weights reach p, as guidellm
)

// Definition is the metrics of one benchmark client (docs/reference/bench.md#definitions).
type Definition struct {
	Name    string
	Metrics []Metric
	rule    rule
}

func sec(ns int64) float64 { return float64(ns) / 1e9 }

// since returns the time from one stamp to another, if both exist.
func since(from, to int64) (float64, float64, bool) { return sec(to - from), 1, from != 0 && to != 0 }

// sent returns the origin of latencies: the sending. A logged request without it counts from its due time.
func sent(r *request) int64 {
	if r.SentNS != 0 {
		return r.SentNS
	}
	return r.DueNS
}

// last returns the time of the last token, or the end of an answer that was not streamed.
func last(r *request) int64 {
	if at := r.LastNS(); at != 0 {
		return at
	}
	return r.EndNS
}

func ttft(r *request) (float64, float64, bool) { return since(sent(r), r.FirstNS()) }
func e2e(r *request) (float64, float64, bool)  { return since(sent(r), r.EndNS) }

func tokenEnd(r *request) (float64, float64, bool) { return since(sent(r), last(r)) }

// ttfo returns the time to the first token outside the reasoning. An answer that is all reasoning has none.
func ttfo(r *request) (float64, float64, bool) { return since(sent(r), r.VisibleNS) }

// tpot returns the mean time of a token after the first one.
func tpot(r *request) (float64, float64, bool) { return tpotFrom(r, r.FirstNS()) }

func tpotFrom(r *request, first int64) (float64, float64, bool) {
	if r.OutputTokens < 2 || first == 0 {
		return 0, 0, false
	}
	return sec(last(r)-first) / float64(r.OutputTokens-1), 1, true
}

// firstChoice returns the time of the first event that has a choice: vLLM's client counts it as the first token, even
// if it has no text (vllm/benchmarks/lib/endpoint_request_func.py).
func firstChoice(r *request) int64 { return cmp.Or(r.ChoiceNS, r.FirstNS()) }

func choiceTTFT(r *request) (float64, float64, bool) { return since(sent(r), firstChoice(r)) }
func choiceTPOT(r *request) (float64, float64, bool) { return tpotFrom(r, firstChoice(r)) }

// perToken divides a latency by the number of tokens.
func perToken(of formula) formula {
	return func(r *request) (float64, float64, bool) {
		s, _, ok := of(r)
		return s / float64(max(r.OutputTokens, 1)), 1, ok && r.OutputTokens > 0
	}
}

// fromDue is a latency that counts from the due time.
func fromDue(to func(*request) int64) formula {
	return func(r *request) (float64, float64, bool) { return since(r.DueNS, to(r)) }
}

func endNS(r *request) int64 { return r.EndNS }

// tokenGaps: all tokens of an event come at once, so that k tokens have k−1 gaps of 0.
func tokenGaps(r *request, each func(float64, int)) { tokenGapsFrom(r, 0, each) }

// tokenGapsFrom is tokenGaps of the events from a position on.
func tokenGapsFrom(r *request, from int, each func(float64, int)) {
	share := sharesOf(r)
	for i := from; i < len(r.Events); i++ {
		if i > from {
			each(sec(r.Events[i].AtNS-r.Events[i-1].AtNS), 1)
		}
		if n := share.tokens(r, i); n > 1 {
			each(0, n-1)
		}
	}
}

// smoothGaps: the tokens of an event came evenly since the event before it, so that k tokens have k equal gaps.
func smoothGaps(r *request, each func(float64, int)) {
	share := sharesOf(r)
	for i := 1; i < len(r.Events); i++ {
		if n := share.tokens(r, i); n > 0 {
			each(sec(r.Events[i].AtNS-r.Events[i-1].AtNS)/float64(n), n)
		}
	}
}

// share divides the tokens that a server counted, but that no event accounts for, evenly among the events: without
// token ids, an event of several tokens counts as one. The zero value adds nothing.
type share struct{ each, rest int }

func sharesOf(r *request) share {
	if more := r.OutputTokens - r.Streamed(); more > 0 && len(r.Events) > 0 {
		return share{more / len(r.Events), more % len(r.Events)}
	}
	return share{}
}

// tokens returns the tokens of an event. The first ones have the rest of the division.
func (s share) tokens(r *request, i int) int {
	n := r.Events[i].Tokens + s.each
	if i < s.rest {
		n++
	}
	return n
}

// eventGaps are the gaps between events, whatever they contain.
func eventGaps(r *request, each func(float64, int)) {
	for i := 1; i < len(r.Events); i++ {
		each(sec(r.Events[i].AtNS-r.Events[i-1].AtNS), 1)
	}
}

// choiceGaps are the gaps between events, the first of which may have no text.
func choiceGaps(r *request, each func(float64, int)) {
	if r.ChoiceNS != 0 && len(r.Events) > 0 {
		each(sec(r.FirstNS()-r.ChoiceNS), 1)
	}
	eventGaps(r, each)
}

// Names of metrics that several definitions have.
const (
	nameTTFT, nameTTFO, nameTPOT, nameITL = "ttft", "ttfo", "tpot", "itl"
	nameICL, nameNTPOT, nameE2E           = "icl", "ntpot", "e2e"
)

// ours are the metrics of this program.
var ours = Definition{Name: "mlperf-go", rule: nearest, Metrics: []Metric{
	{Name: nameTTFT, Help: "sent to first token", of: ttft},
	{Name: nameTTFO, Help: "sent to first token that is no reasoning", of: ttfo},
	{Name: nameTPOT, Help: "(last - first token) / (n - 1)", of: tpot},
	{Name: nameITL, Help: "between tokens, all answers together", gaps: tokenGaps},
	{Name: nameICL, Help: "between events, all answers together", gaps: eventGaps},
	{Name: nameNTPOT, Help: "whole answer / n", of: perToken(e2e)},
	{Name: nameE2E, Help: "sent to the end of the answer", of: e2e},
	{Name: "token_end", Help: "sent to last token", of: tokenEnd},
	{Name: "ttft_due", Help: "due to first token", of: fromDue((*request).FirstNS)},
	{Name: "e2e_due", Help: "due to the end of the answer", of: fromDue(endNS)},
}}

// delays are the metrics of the schedule. Every definition has them.
var delays = []Metric{
	{Name: "schedule_delay", Help: "due to sent", of: func(r *request) (float64, float64, bool) {
		return since(r.DueNS, r.SentNS)
	}},
	{Name: "client_delay", Help: "due, with room under the limits, to sent",
		of: func(r *request) (float64, float64, bool) { return since(r.ReadyNS, r.SentNS) }},
}

// peers are the metrics of other clients: docs/reference/peers.md cites their source.
var peers = []Definition{
	{Name: "inference-perf", rule: linear, Metrics: []Metric{
		{Name: nameTTFT, Help: "sent to first token, of answers with at least two tokens; no reasoning", of: perfTTFT},
		{Name: nameTPOT, Help: "(last - first token) / (n - 1), without the reasoning", of: perfTPOT},
		{Name: nameITL, Help: "between tokens without the reasoning; those of one event have gaps of 0", gaps: perfGaps},
		{Name: nameNTPOT, Help: "whole answer / n, without the reasoning; 0 if n is 0", of: perfNTPOT},
		{Name: nameE2E, Help: "sent to the end of the answer", of: e2e},
	}},
	{Name: "guidellm", rule: cumulative, Metrics: []Metric{
		{Name: nameTTFT, Help: "sent to first token", of: ttft},
		{Name: nameTTFO, Help: "sent to first token that is no reasoning", of: ttfo},
		{Name: nameTPOT, Help: "(last token - sent) / n, weighted by n", of: guideTPOT},
		{Name: nameITL, Help: "(last - first token) / (n - 1), weighted by n - 1", of: guideITL},
		{Name: nameE2E, Help: "sent to the end of the answer", of: e2e},
	}},
	{Name: "vllm", rule: linear, Metrics: []Metric{
		{Name: nameTTFT, Help: "sent to first event, with text or without", of: choiceTTFT},
		{Name: nameTPOT, Help: "(last - first event) / (n - 1)", of: choiceTPOT},
		{Name: nameITL, Help: "between events", gaps: choiceGaps},
		{Name: nameE2E, Help: "sent to last event", of: tokenEnd},
	}},
	{Name: "aiperf", rule: linear, Metrics: []Metric{
		{Name: nameTTFT, Help: "sent to first event", of: ttft},
		{Name: nameITL, Help: "(last - first event) / (n - 1), one value per answer", of: tpot},
		{Name: nameICL, Help: "between events", gaps: eventGaps},
		{Name: nameE2E, Help: "sent to last event", of: tokenEnd},
	}},
	{Name: "loadgen", rule: nearest, Metrics: []Metric{
		{Name: nameTTFT, Help: "due to first token", of: fromDue((*request).FirstNS)},
		{Name: nameTPOT, Help: "(end - first token) / (n - 1)", of: loadgenTPOT},
		{Name: nameE2E, Help: "due to the end of the answer", of: fromDue(endNS)},
	}},
}

// content returns the first event of an answer that is no reasoning, and the number of tokens from it on. Of them alone
// inference-perf's client takes the times, and it counts the tokens of their text (inference_perf/apis/chat.py). n is
// that of the whole answer without a stream.
func content(r *request) (first, n int) {
	n = r.OutputTokens
	share := sharesOf(r)
	for first < len(r.Events) && (r.VisibleNS == 0 || r.Events[first].AtNS < r.VisibleNS) {
		n -= share.tokens(r, first)
		first++
	}
	return first, max(n, 0)
}

// EventTokens returns the tokens of each event; nil: one each. Tokens that the server counted, but that no event
// accounts for, are divided evenly.
func EventTokens(r *eventlog.Request) []int {
	if r.OutputTokens <= len(r.Events) && r.Streamed() == len(r.Events) {
		return nil
	}
	share, list := sharesOf(r), make([]int, len(r.Events))
	for i := range list {
		list[i] = share.tokens(r, i)
	}
	return list
}

func perfTTFT(r *request) (float64, float64, bool) {
	s, w, ok := ttfo(r)
	_, n := content(r)
	return s, w, ok && len(r.Events) > 0 && n > 1
}

func perfTPOT(r *request) (float64, float64, bool) {
	first, n := content(r)
	if first == len(r.Events) || n < 2 {
		return 0, 0, false
	}
	return sec(last(r)-r.Events[first].AtNS) / float64(n-1), 1, true
}

func perfGaps(r *request, each func(float64, int)) {
	first, _ := content(r)
	tokenGapsFrom(r, first, each)
}

func perfNTPOT(r *request) (float64, float64, bool) {
	s, w, ok := e2e(r)
	_, n := content(r)
	if n == 0 {
		return 0, w, ok
	}
	return s / float64(n), w, ok
}

func guideTPOT(r *request) (float64, float64, bool) {
	s, _, ok := tokenEnd(r)
	n := float64(r.OutputTokens)
	return s / max(n, 1), n, ok && n > 0
}

func guideITL(r *request) (float64, float64, bool) {
	s, _, ok := tpot(r)
	return s, float64(r.OutputTokens - 1), ok
}

func loadgenTPOT(r *request) (float64, float64, bool) {
	if r.OutputTokens < 2 || r.FirstNS() == 0 || r.EndNS == 0 {
		return 0, 0, false
	}
	return sec(r.EndNS-r.FirstNS()) / float64(r.OutputTokens-1), 1, true
}

// Definitions returns all of them; the first is this program's.
func Definitions() []Definition { return append([]Definition{ours}, peers...) }

// DefinitionNames returns their names.
func DefinitionNames() (names []string) {
	for _, d := range Definitions() {
		names = append(names, d.Name)
	}
	return names
}

// itlModes are the ways to count the gaps between tokens if an event contains several.
var itlModes = []struct {
	name string
	gaps gaps
}{{"burst", tokenGaps}, {"smooth", smoothGaps}, {"chunk", eventGaps}}

// GapModes returns the values of itl.mode.
func GapModes() (names []string) {
	for _, m := range itlModes {
		names = append(names, m.name)
	}
	return names
}

const itlSwitch = ",itl.mode="

// Define returns a definition by name; empty: this program's. A mode of itlModes may follow the name, as in
// "mlperf-go,itl.mode=smooth".
func Define(name string) (*Definition, error) {
	base, mode, hasMode := strings.Cut(name, itlSwitch)
	for _, d := range Definitions() {
		if d.Name != base && name != "" {
			continue
		}
		d.Metrics = append(slices.Clone(d.Metrics), delays...)
		if !hasMode {
			return &d, nil
		}
		return d.countGaps(mode)
	}
	return nil, fmt.Errorf("--definitions %q %s", name, config.NotOneOf(base, DefinitionNames()))
}

// countGaps changes how a definition counts the gaps between tokens.
func (d *Definition) countGaps(mode string) (*Definition, error) {
	at := slices.IndexFunc(d.Metrics, func(m Metric) bool { return m.Name == nameITL && m.gaps != nil })
	if at < 0 {
		return nil, fmt.Errorf("--definitions %s has no gaps between tokens that itl.mode could count", d.Name)
	}
	for _, m := range itlModes {
		if m.name == mode {
			d.Name, d.Metrics[at].gaps = d.Name+itlSwitch+mode, m.gaps
			d.Metrics[at].Help += ", itl.mode=" + mode
			return d, nil
		}
	}
	return nil, fmt.Errorf("--definitions: itl.mode %q %s", mode, config.NotOneOf(mode, GapModes()))
}
