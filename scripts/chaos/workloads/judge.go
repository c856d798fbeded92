package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// outcome is the judged part of bench.json.
type outcome struct {
	Verdict string `json:"verdict"`
	Reasons []struct {
		Code string `json:"code"`
	} `json:"reasons"`
	Figures struct {
		Total struct {
			Requests struct {
				Total   int            `json:"total"`
				OK      int            `json:"successes"`
				Failed  int            `json:"failures"`
				ByCause map[string]int `json:"failures_by_cause"`
			} `json:"requests"`
			Tokens struct {
				Output int `json:"output"`
			} `json:"tokens"`
		} `json:"total"`
	} `json:"figures"`
}

// judge compares the record of a test with the servers' log.
type judge struct {
	*trial
	record           outcome
	violations, slow []string
}

var (
	crashed = regexp.MustCompile(`(?m)^(panic:|fatal error:|goroutine \d+ |SIGSEGV|runtime: )|a bug of this program`)
	// lateness may come from a busy machine alone.
	lateness = []string{"client_lag", "clock_step", "scenario_limit"}
)

func (j *judge) violate(format string, args ...any) {
	j.violations = append(j.violations, fmt.Sprintf(format, args...))
}

func (j *judge) judge(form *jsonschema.Schema, program string) {
	if j.hung {
		j.violate("the program did not end within %v", patience)
	}
	if crashed.Match(j.output.Bytes()) {
		j.violate("the program crashed")
	}
	text, err := os.ReadFile(filepath.Join(j.results(), "bench.json"))
	if errors.Is(err, fs.ErrNotExist) && j.Event == "SIGKILL" {
		j.afterKill(program)
		return
	}
	if err != nil {
		j.violate("no record: %v", err)
		return
	}
	j.valid(form, text)
	if err := json.Unmarshal(text, &j.record); err != nil {
		j.violate("bench.json: %v", err)
		return
	}
	j.exitCode()
	j.counts()
	j.verdict()
	j.requests()
}

// requests checks what the servers received: the version of HTTP, and in each prompt exactly the answers that its
// session had before.
func (j *judge) requests() {
	j.log.mu.Lock()
	defer j.log.mu.Unlock()
	before := map[string][]string{} // by session
	for _, e := range j.log.entries {
		if want := map[bool]int{false: 1, true: 2}[j.HTTP2]; e.HTTP != want {
			j.violate("a request in HTTP/%d instead of HTTP/%d", e.HTTP, want)
			return
		}
		if j.Shape == single && e.Session == "" && len(e.Before) == 0 {
			continue
		}
		if e.Session == "" || !slices.Equal(e.Before, before[e.Session]) {
			j.violate("the prompt of a request of session %q has the answers %v, and the session had %v", e.Session, e.Before,
				before[e.Session])
		}
		if e.Whole {
			before[e.Session] = append(before[e.Session], e.Mark)
		}
	}
}

func (j *judge) valid(form *jsonschema.Schema, text []byte) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = form.Validate(document)
	}
	if err != nil {
		j.violate("bench.json does not fit its schema: %v", err)
	}
}

func (j *judge) exitCode() {
	want := map[string][]int{"VALID": {0}, "INVALID": {1}, "INTERRUPTED": {130, 143}}[j.record.Verdict]
	if !slices.Contains(want, j.exit) {
		j.violate("exit code %d of a run that is %s", j.exit, j.record.Verdict)
	}
}

// genuine returns how many answers were written in full before a moment, and their tokens.
func (j *judge) genuine(before time.Time) (answers, tokens int) {
	j.log.mu.Lock()
	defer j.log.mu.Unlock()
	for _, e := range j.log.entries {
		if e.Whole && e.At.Before(before) {
			answers++
			tokens += e.Tokens
		}
	}
	return answers, tokens
}

// explained returns the causes of failures that the servers' faults and the event explain.
func (j *judge) explained() map[string]bool {
	codes := map[string]bool{}
	struck := j.log.counts()
	for _, f := range faults {
		if struck[f.name] > 0 {
			for _, code := range f.codes {
				codes[code] = true
			}
		}
	}
	if j.Event == "server dies" {
		for _, code := range []string{"reset", "connect", "no_endpoint", "truncated"} {
			codes[code] = true
		}
		codes["tls"] = j.TLS // it died during a handshake
	}
	return codes
}

// counts compares the numbers of requests and tokens.
func (j *judge) counts() {
	n := &j.record.Figures.Total.Requests
	answers, tokens := j.genuine(time.Now())
	causes, explained, sum := n.ByCause, j.explained(), 0
	late, struck := 0, j.log.counts()
	for code, count := range causes {
		sum += count
		switch unanswered := struck["stall"] + struck["silence"]; {
		case code == "timeout_request" && count > unanswered:
			late += count - unanswered
			j.slow = append(j.slow, fmt.Sprintf("%d requests were not answered in time without a fault", late))
		case explained[code]:
		default:
			j.violate("%d requests failed with %s, and no fault explains it: %v", count, code, j.log.counts())
		}
	}
	if sum != n.Failed {
		j.violate("%d failures, and %d by cause", n.Failed, sum)
	}
	ends := j.record.Verdict == "INTERRUPTED" || late > 0 || j.Event == "server dies"
	if n.OK > answers || n.OK < answers && !ends {
		j.violate("%d requests are OK, and the servers answered %d in full", n.OK, answers)
	}
	if out := j.record.Figures.Total.Tokens.Output; out > tokens || out < tokens && !ends {
		j.violate("%d output tokens, and the servers' answers had %d", out, tokens)
	}
	short := j.Shape == sessions && n.Failed > 0 && n.Total < j.Requests // a failed call ends its session
	if j.record.Verdict != "INTERRUPTED" && (n.Total != j.Requests && !short || n.OK+n.Failed != n.Total) {
		j.violate("%d requests, %d of them OK and %d failed; the profile has %d", n.Total, n.OK, n.Failed, j.Requests)
	}
}

// verdict rejects a false VALID, and requires VALID if nothing failed.
func (j *judge) verdict() {
	failed := j.record.Figures.Total.Requests.Failed
	answers, _ := j.genuine(time.Now())
	switch j.record.Verdict {
	case "VALID":
		if failed > 0 || answers < j.Requests {
			j.violate("false VALID: %d of %d requests were answered in full", answers, j.Requests)
		}
	case "INVALID":
		if failed > 0 {
			return
		}
		for _, r := range j.record.Reasons {
			if !slices.Contains(lateness, r.Code) {
				j.violate("INVALID for %s without a failure", r.Code)
				continue
			}
			j.slow = append(j.slow, r.Code)
		}
	case "INTERRUPTED":
		if j.Event != "SIGINT" && j.Event != "SIGTERM" {
			j.violate("INTERRUPTED without a signal")
		}
	default:
		j.violate("the verdict is %q", j.record.Verdict)
	}
}

// afterKill checks the files of a killed program.
func (j *judge) afterKill(program string) {
	if j.exit != -9 {
		j.violate("exit %d after SIGKILL", j.exit)
	}
	text, err := exec.Command(program, "show", j.results(), "--json").Output()
	var shown struct {
		Runs []struct {
			Bench outcome `json:"bench"`
		} `json:"runs"`
	}
	if err == nil {
		err = json.Unmarshal(text, &shown)
	}
	if err != nil || len(shown.Runs) != 1 {
		least, _ := j.genuine(j.killed.Add(-time.Second))
		if least > 0 {
			j.violate("the event log of a killed run with %d answers cannot be shown: %v", least, err)
		}
		j.record.Verdict = "nothing"
		return
	}
	j.record = shown.Runs[0].Bench
	if j.record.Verdict != "INTERRUPTED" {
		j.violate("a killed run is %s", j.record.Verdict)
	}
	least, _ := j.genuine(j.killed.Add(-time.Second))
	most, _ := j.genuine(time.Now())
	if ok := j.record.Figures.Total.Requests.OK; ok < least || ok > most {
		j.violate("a killed run has %d answers; the servers gave %d a second before, and %d in all", ok, least, most)
	}
}
