package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// judgement is the judge's result for a trial.
type judgement struct {
	verdict    string   // VALID, INVALID, INTERRUPTED, or why it is missing
	violations []string // of the promises
	slow       []string // deviations that only a busy machine explains
}

// judge compares the output of a trial with what its servers did.
type judge struct {
	*trial
	*result
	j       judgement
	explain map[string]bool // verdict codes that have a cause
	any     map[string]bool // failure codes that any sample may have
	rows    []rowTruth
	strict  []*entry // requests whose samples must fail
	poison  []*entry // requests that make the run INVALID
	action  *action  // nil: none, or it was not done
}

// rowTruth is what the servers did for one row of the data set.
type rowTruth struct {
	genuine int             // whole genuine answers
	strict  int             // answers that must fail
	codes   map[string]bool // failure codes that the row's faults explain
}

// slowCodes and slowReasons may come from a busy machine alone.
var (
	slowCodes   = []string{"timeout_first_token", "timeout_between_tokens", "timeout_request", "connect"}
	slowReasons = []string{"client_lag", "scenario_limit", "clock_step"}
)

// crashed is the output of a program that broke.
var crashed = regexp.MustCompile(`(?m)^(panic:|fatal error:|goroutine \d+ |SIGSEGV|runtime: )|a bug of this ` +
	`program|this is a bug`)

func (j *judge) violate(format string, args ...any) {
	j.j.violations = append(j.j.violations, fmt.Sprintf(format, args...))
}

func (j *judge) slow(format string, args ...any) {
	j.j.slow = append(j.j.slow, fmt.Sprintf(format, args...))
}

// judgeTrial judges a trial that has ended.
func judgeTrial(t *trial, r *result) judgement {
	j := &judge{trial: t, result: r, explain: map[string]bool{}, any: map[string]bool{}, rows: make([]rowTruth, t.sc.Rows)}
	j.j.verdict = "none"
	if r.record != nil {
		j.j.verdict = r.record.Verdict
	}
	t.truth.mu.Lock()
	defer t.truth.mu.Unlock()
	j.learn()
	j.process()
	j.exitCode()
	if r.record == nil && t.lost && !j.hung {
		j.violate("%s, and what was measured was not saved", j.action.name)
	}
	if r.record != nil {
		if r.invalid != nil {
			j.violate("run.json does not fit its schema: %v", r.invalid)
		}
		j.sums()
		j.reasons()
		j.samplesHold()
		j.noFalseValid()
	}
	for _, e := range t.truth.errors {
		j.violate("%s", e)
	}
	return j.j
}

// learn classifies the log of the servers.
func (j *judge) learn() {
	for i := range j.rows {
		j.rows[i].codes = map[string]bool{}
	}
	if j.truth.action == nil && j.sc.Action != "" {
		i := slices.IndexFunc(actions, func(a action) bool { return a.name == j.sc.Action })
		j.action = &actions[i]
		mark(j.any, j.action.codes)
		mark(j.explain, j.action.reasons)
	}
	if j.truth.events["connection limit"] {
		mark(j.any, gone)
	}
	if j.stopsEarly() {
		mark(j.any, []string{"cancelled"})
	}
	for _, e := range j.truth.entries {
		if e.Armed {
			j.learnEntry(e)
		}
	}
	if j.sc.OneToken > 0 {
		mark(j.explain, []string{"loadgen_errors", "loadgen_invalid"})
	}
}

func (j *judge) learnEntry(e *entry) {
	f := &fault{}
	if i := slices.IndexFunc(faults, func(f fault) bool { return f.name == e.Fault }); i >= 0 {
		f = &faults[i]
	}
	if f.name == strayBytes && j.sc.identified() { // the ids identify the answers
		known := *f
		known.kind, f = eitherWay, &known
	}
	mark(j.explain, f.reasons)
	if j.sc.Batch > 0 && f.kind != harmless {
		mark(j.explain, []string{"token_mismatch"})
	}
	if f.spills || j.sc.Early { // the preflight's findings apply to every answer
		mark(j.any, f.codes)
	}
	for _, row := range e.Rows {
		mark(j.rows[row].codes, f.codes)
		if j.sc.Batch > 0 && f.kind != harmless {
			mark(j.rows[row].codes, []string{"batch_mismatch", "token_count_mismatch"}) // the count is of all parts
		}
		// one part of the batch fails
		if (e.Whole || e.Broken) && (f.kind == harmless || f.kind == eitherWay || f.kind == fails && j.sc.Batch > 0) {
			j.rows[row].genuine++
		}
		if e.Whole && f.kind == fails && j.sc.Batch == 0 || f.kind == fails && e.Done && cuts(e.Fault) && j.sc.Batch == 0 {
			j.rows[row].strict++
		}
	}
	switch {
	case f.kind == fails && (e.Whole || cuts(e.Fault)):
		j.strict = append(j.strict, e)
	case f.kind == poisons && e.Whole:
		j.poison = append(j.poison, e)
	case e.Model != "" && e.Whole && f.kind == harmless:
		j.poison = append(j.poison, e)
	}
}

// cuts reports whether a fault leaves its answer unfinished on purpose.
func cuts(name string) bool {
	return name == "cut_middle" || name == "silent_middle" || name == "silent_before"
}

func mark(set map[string]bool, list []string) {
	for _, s := range list {
		set[s] = true
	}
}

// stopsEarly reports whether the test may end before its last sample.
func (j *judge) stopsEarly() bool {
	return j.sc.MaxErrors >= 0 || j.sc.FailFast || j.action != nil && j.action.ends
}

// process judges the end of the program.
func (j *judge) process() {
	if j.hung {
		j.violate("it hung: it was ended after %v", j.took)
	}
	if j.leftover {
		j.violate("processes of the program outlived it")
	}
	if text := crashed.FindString(j.stderr.String()); text != "" && !j.hung {
		j.violate("it crashed: %q in what it printed", text)
	}
	if j.stale && j.begun() {
		j.violate("the record of an earlier run stayed in the folder of this one")
	}
	for _, name := range j.files {
		if name == earlierLog && j.begun() {
			j.violate("a log of an earlier run stayed in the folder of this one")
		}
		if strings.Contains(name, ".tmp") && !(j.action != nil && j.action.abrupt) {
			j.violate("a temporary file was left: %s", name)
		}
	}
}

// exitCode judges the exit code by the table of docs/reference/troubleshooting.md.
func (j *judge) exitCode() {
	if j.hung {
		return
	}
	var allowed []int
	switch j.j.verdict {
	case "VALID":
		allowed = []int{0}
	case "INVALID":
		allowed = []int{1}
		if j.has("log_incomplete") {
			allowed = []int{3}
		}
	}
	if j.action != nil {
		allowed = append(allowed, j.action.exits...)
	}
	if j.record == nil && !j.begun() {
		allowed = append(allowed, 3) // the preflight's
	}
	if !slices.Contains(allowed, j.exit) {
		j.violate("exit code %d with verdict %s; allowed are %v", j.exit, j.j.verdict, allowed)
	}
	if j.record == nil && j.exit == 3 && !j.begun() && !j.sc.Early {
		j.violate("the preflight failed at servers without a fault: %.400s", j.stderr.String())
	}
	if j.record == nil && j.exit == 3 && len(j.files) > 0 && !j.begun() {
		j.violate("nothing was started, and files were left: %v", j.files)
	}
}

// begun reports whether the timed phase has begun.
func (j *judge) begun() bool {
	return slices.ContainsFunc(j.truth.entries, func(e *entry) bool { return e.Armed })
}

func (j *judge) has(code string) bool {
	for _, r := range j.record.Reasons {
		if r.Code == code {
			return true
		}
	}
	return false
}

// sums checks the figures of the record for consistency and against the request log.
func (j *judge) sums() {
	s := j.record.Samples
	failed := 0
	for _, n := range s.ByReason {
		failed += n
	}
	if failed != s.Failed {
		j.violate("failed_by_reason has %d samples, and failed is %d", failed, s.Failed)
	}
	if !j.stopsEarly() && !j.lost && s.Completed != s.Issued {
		j.violate("%d samples issued, %d completed", s.Issued, s.Completed)
	}
	if want := j.sc.Queries; j.record.Verdict == "VALID" && (s.Issued < want || j.sc.Accuracy && s.Issued != want) {
		j.violate("VALID with %d samples of %d", s.Issued, want)
	}
	if j.lost || j.stopsEarly() {
		return
	}
	if len(j.samples) != s.Issued {
		j.violate("the request log has %d lines for %d samples", len(j.samples), s.Issued)
	}
	in, out, retried, repeats, nowhere := 0, 0, 0, 0, 0
	byReason := map[string]int{}
	for _, l := range j.samples {
		repeats += l.Retries
		retried += min(1, l.Retries)
		if l.Reason == "no_endpoint" { // it counts at no endpoint
			nowhere += l.Retries
		}
		if l.Reason != "" {
			byReason[l.Reason]++
			continue
		}
		in, out = in+l.Input, out+l.Output
	}
	if in != j.record.Tokens.Input || out != j.record.Tokens.Output {
		j.violate("the request log has %d+%d tokens, the record %d+%d", in, out, j.record.Tokens.Input,
			j.record.Tokens.Output)
	}
	if said := j.record.repeats(); retried != s.Retried || repeats-nowhere != said {
		j.violate("the request log has %d samples with %d repeats, the record %d with %d", retried, repeats-nowhere,
			s.Retried, said)
	}
	if !maps.Equal(byReason, s.ByReason) {
		j.violate("the request log has the failures %v, the record %v", byReason, s.ByReason)
	}
	if want := s.Failed + repeats; j.attempts != want && j.sc.Batch == 0 {
		j.violate("failures.jsonl has %d lines for %d failed samples and %d repeats", j.attempts, s.Failed, repeats)
	}
}

// reasons requires a cause for every reason of the verdict.
func (j *judge) reasons() {
	failed := j.record.Samples.Failed > 0 || j.stopsEarly()
	for _, r := range j.record.Reasons {
		switch {
		case j.explain[r.Code]:
		case slices.Contains(slowReasons, r.Code):
			j.slow("%s: %s", r.Code, r.Text)
		case slices.Contains([]string{"failed_samples", "loadgen_errors", "loadgen_invalid", "empty_outputs"}, r.Code) &&
			failed:
		default:
			j.violate("false %s: the reason %s has no cause: %s", j.record.Verdict, r.Code, r.Text)
		}
	}
}

// samplesHold checks every line of the request log and every answer of the accuracy log against its row.
func (j *judge) samplesHold() {
	wins, losses := make([]int, j.sc.Rows), make([]int, j.sc.Rows)
	for _, l := range j.samples {
		if l.Index < 0 || l.Index >= j.sc.Rows {
			j.violate("the request log has a sample %d", l.Index)
			continue
		}
		row := &j.rows[l.Index]
		if l.DoneNS == 0 { // a run that ends early leaves some unfinished
			if j.record.Verdict == "VALID" {
				j.wrong("sample %d is outstanding in a VALID run", l.Index)
			}
			continue
		}
		if l.Reason == "" {
			wins[l.Index]++
			if want := j.sc.answerLength(l.Index); l.Output != want {
				j.wrong("sample %d is recorded with %d tokens, its answer has %d", l.Index, l.Output, want)
			}
			continue
		}
		losses[l.Index]++
		if row.codes[l.Reason] || j.any[l.Reason] {
			continue
		}
		if slices.Contains(slowCodes, l.Reason) {
			j.slow("sample %d failed with %s", l.Index, l.Reason)
		} else {
			j.violate("sample %d failed with %s, and no fault of its requests explains that", l.Index, l.Reason)
		}
	}
	for i := range j.rows {
		if wins[i] > j.rows[i].genuine {
			j.wrong("sample %d succeeded %d times, and has %d genuine answers", i, wins[i], j.rows[i].genuine)
		}
		if losses[i] < j.rows[i].strict && len(j.samples) > 0 && !j.stopsEarly() && j.action == nil {
			j.wrong("sample %d failed %d times, and %d of its answers had a fault that fails it", i, losses[i], j.rows[i].strict)
		}
	}
	j.answersHold()
}

// wrong reports a false record. It is a violation unless the verdict already states that answers cannot be trusted.
func (j *judge) wrong(format string, args ...any) {
	if j.record.Verdict != "VALID" && (len(j.poison) > 0 || j.has("unasked_answers")) {
		return // the verdict states that answers cannot be trusted
	}
	j.violate(format, args...)
}

func (j *judge) answersHold() {
	if !j.sc.Accuracy || j.lost {
		return
	}
	failed := map[int]bool{}
	for _, l := range j.samples {
		failed[l.Index] = l.Reason != ""
	}
	seen := map[int]bool{}
	for _, a := range j.answers {
		switch {
		case a.Index < 0 || a.Index >= j.sc.Rows || seen[a.Index]:
			j.violate("the accuracy log has sample %d twice, or no such sample exists", a.Index)
			continue
		case a.Data == "" && (failed[a.Index] || j.stopsEarly()):
		case a.Data != j.sc.logged(j.sc.genuine(a.Index, maxTokens)):
			j.wrong("the accuracy log has another answer for sample %d: %.80s", a.Index, a.Data)
		case failed[a.Index]:
			j.violate("sample %d failed, and the accuracy log has an answer", a.Index)
		}
		seen[a.Index] = true
	}
	if j.record.Verdict == "VALID" && len(seen) != j.sc.Rows {
		j.violate("VALID with %d answers of %d in the accuracy log", len(seen), j.sc.Rows)
	}
}

// noFalseValid rejects VALID if a fault forbids it, and requires VALID if none does.
func (j *judge) noFalseValid() {
	if j.record.Verdict != "VALID" {
		return
	}
	if n := len(j.strict); n > 0 {
		j.violate("false VALID: %d requests had a fault that fails their samples, the first %s (request %d)", n,
			j.strict[0].Fault, j.strict[0].N)
	}
	if n := len(j.poison); n > 0 {
		e := j.poison[0]
		j.violate("false VALID: %d requests had %s%s (request %d)", n, e.Fault,
			map[bool]string{true: "an answer of another model"}[e.Model != "" && e.Fault == ""], e.N)
	}
	if j.lost && j.action != nil && j.sc.ActionAt < j.sc.Queries/max(j.sc.Batch, 1) {
		j.violate("false VALID: %s during the test", j.action.name)
	}
}
