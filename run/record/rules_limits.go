package record

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/plural"
)

func ttftLimit(e *Evidence) *Cause {
	return e.scenarioLimit(e.tokenTime(e.TTFTLimit), "time to first token",
		"result_first_token_99.00_percentile_latency_ns")
}

func tpotLimit(e *Evidence) *Cause {
	return e.scenarioLimit(e.tokenTime(e.TPOTLimit), "time per output token",
		"result_time_per_output_token_99.00_percentile_ns")
}

// answerLimit applies to benchmarks that limit the whole answer instead of its tokens.
func answerLimit(e *Evidence) *Cause {
	return e.scenarioLimit(e.AnswerLimit, "whole answer", "result_99.00_percentile_latency_ns")
}

// scenarioLimit requires LoadGen's 99th percentile to be strictly below the limit, as the submission checker does
// (docs/reference/benchmarks.md#limits-and-counts).
func (e *Evidence) scenarioLimit(limit time.Duration, what, key string) *Cause {
	if !e.measures() || limit <= 0 {
		return nil
	}
	ns, ok := number64(e.Logs.Result[key])
	switch {
	case ok && ns < float64(limit), !ok && !e.Logs.Complete: // logIncomplete reports it
		return nil
	case !ok:
		return &Cause{Code: CodeScenarioLimit, Text: fmt.Sprintf("LoadGen logged no 99th percentile of the %s, which must "+
			"be under %v in %s", what, limit, e.Scenario), Limit: limit.Seconds()}
	}
	return &Cause{Code: CodeScenarioLimit, Text: fmt.Sprintf("the 99th percentile of the %s is %v, the limit of %s is %v",
		what, time.Duration(ns).Round(10*time.Microsecond), e.Scenario, limit),
		Value: ns / 1e9, Limit: limit.Seconds()}
}

// lagShare is the part of a limit that the client itself may use up (docs/reference/troubleshooting.md#verdict-codes).
const lagShare = 0.1

// dispatchLag compares with the limit of the first token, or of the whole answer where that is limited.
func dispatchLag(e *Evidence) *Cause {
	tolerance := max(e.tokenTime(e.TTFTLimit), e.AnswerLimit)
	return e.lag(e.Record.Client.DispatchLagUS.P99, tolerance, "from scheduled to sent", "the limit for the first token")
}

func reportLag(e *Evidence) *Cause {
	tolerance := e.tokenTime(e.TPOTLimit) * time.Duration(max(e.MedianTokens-1, 1))
	return e.lag(e.Record.Client.ReportLagUS.P99, tolerance, "from readable to reported",
		"the time that the tokens may take")
}

// ownLag compares with the latencies that were measured.
func (e *Evidence) ownLag() *Cause {
	of, name := e.Record.LatencyS.TTFT, "time to first token"
	if of == nil {
		of, name = e.Record.LatencyS.E2E, "time per request"
	}
	if of == nil {
		return nil
	}
	return e.lag(e.Record.Client.DispatchLagUS.P99, time.Duration(of.P99*float64(time.Second)), "from scheduled to sent",
		"the 99th percentile of the "+name+" that was measured")
}

// localPorts: a request that waits for a port of this machine waits for the client, and not for the server.
func localPorts(e *Evidence) *Cause {
	return e.exhausted(CodeLocalPorts, e.Record.Client.Exhausted.Ports, "this machine had no local port for another "+
		"connection", "Widen net.ipv4.ip_local_port_range, give more endpoints, or lower the load")
}

// openFiles: likewise for a file.
func openFiles(e *Evidence) *Cause {
	return e.exhausted(CodeOpenFiles, e.Record.Client.Exhausted.Files, "this process could open no further file for a "+
		"connection", "Raise the limit (ulimit -n, as root ulimit -Hn), or lower the load")
}

// exhausted rejects a measurement in which the client lacked something for a connection n times.
func (e *Evidence) exhausted(code Code, n int64, lacked, remedy string) *Cause {
	if n == 0 || !e.measures() {
		return nil
	}
	open, most := "", 0
	for _, loop := range e.Record.Client.Loops {
		most += loop.ConnectionsMax
	}
	if most > 0 {
		open = ": its loops had at most " + plural.Count(int64(most), "connection", "connections") + " open"
	}
	return noneAllowed(code, n, fmt.Sprintf("%s, %s, so requests waited for the client or failed%s. %s",
		plural.Count(n, "time", "times"), lacked, open, remedy))
}

// tokenTime returns a limit per token, or 0 if LoadGen does not measure first tokens.
func (e *Evidence) tokenTime(limit time.Duration) time.Duration {
	if !e.FirstTokens {
		return 0
	}
	return limit
}

// lag requires the client's own share to stay below a tenth of a limit.
func (e *Evidence) lag(us float64, limit time.Duration, what, of string) *Cause {
	most := limit.Seconds() * lagShare * 1e6
	if !e.measures() || limit <= 0 || us <= most {
		return nil
	}
	return &Cause{Code: CodeClientLag, Text: fmt.Sprintf("the 99th percentile %s is %s ms, above %s ms, a tenth "+
		"of %s: %s", what, plural.Figure(us/1e3), plural.Figure(most/1e3), of, e.whyLate()), Value: us, Limit: most}
}

// idleCPUs is the number of CPUs that a busy client uses at least.
const idleCPUs = 0.5

// whyLate distinguishes a client whose requests waited for a place from one with too much work, and from one that got
// too little processor time. It ends with advice.
func (e *Evidence) whyLate() string {
	const cores = " Give the client cores of its own"
	if n := e.mostInFlight(); n > 0 {
		return fmt.Sprintf("queries waited because the client may have only %d requests in flight. Raise the limit of open "+
			"files (ulimit -n) or --concurrency", n)
	}
	c, s := e.Record.Client.CPUS, e.Record.DurationS
	if c > 0 && s > 0 && c/s < idleCPUs {
		return fmt.Sprintf("the client itself was not busy (%.2g CPUs); check whether it was stopped, throttled by a "+
			"control group, or displaced by another program or the server."+cores, c/s)
	}
	return "the client is too slow for this load; check whether another program or the server uses this machine." + cores
}

// mostInFlight returns how many requests the client may have in flight if it had as many, and queries waited for a
// place; else 0. Exhausted ports lower that number too, and have a rule of their own.
func (e *Evidence) mostInFlight() (n int) {
	waited := false
	if e.Record.Client.Exhausted.Ports > 0 {
		return 0
	}
	for _, l := range e.Record.Client.Loops {
		n += l.LimitMax
		waited = waited || l.LimitMax > 0 && l.ConnectionsMax >= l.LimitMax && l.QueueMax > 0
	}
	if !waited {
		return 0
	}
	return n
}

func number64(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}
