package run

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/hostinfo"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
)

// evidence is everything that a verdict rests on.
type evidence struct {
	plan    *Plan
	record  *Record
	logs    *mllog.Result    // nil: LoadGen wrote none
	score   *accuracy.Result // nil: none
	ended   error            // why the test ended early; nil: it did not
	outside bool             // it was ended from outside: by a signal, or the caller's context
	drift   time.Duration
	audit   bool // LoadGen said that it applied an audit configuration
	tokens  bool // LoadGen waits for first tokens
	medianN int  // median output tokens of successful samples
}

// rules are the conditions of VALID (docs/reference/troubleshooting.md#verdict-codes), each a function that gives a
// cause, or nil. What causes others stands before them: a server that died fails samples, which LoadGen logs as errors,
// for which it says INVALID.
var rules = []func(*evidence) *Cause{
	ruleInterrupted, ruleLimitLost, ruleEndedEarly, ruleServers,
	ruleFailed, ruleUnfinished, ruleEmpty, ruleFirstTokens, ruleTokenCounts, rulePrompts, ruleMisreported, ruleUnasked,
	ruleModel,
	ruleClock, ruleDispatchLag, ruleReportLag, ruleTTFTLimit, ruleTPOTLimit, ruleLatencyLimit,
	ruleLogComplete, ruleLoadGenErrors, ruleLoadGen, ruleAudit, ruleAccuracy, ruleUnclaimed, ruleNotScored,
}

// judge gives the verdict and every cause for it.
func (e *evidence) judge() (Verdict, []Cause) {
	causes := []Cause{}
	for _, rule := range rules {
		if c := rule(e); c != nil {
			causes = append(causes, *c)
		}
	}
	switch {
	case len(causes) == 0:
		return Valid, causes
	case causes[0].Code == "interrupted":
		return Interrupted, causes
	default:
		return Invalid, causes
	}
}

func (e *evidence) auditRun() bool { return e.plan.Config.Has("audit-config") }

func ruleInterrupted(e *evidence) *Cause {
	if e.ended == nil || !e.outside {
		return nil
	}
	return &Cause{Code: "interrupted", Text: fmt.Sprintf("the test ended early: %v", e.ended)}
}

// ruleLimitLost tells of a test that --fail-fast ended because it could not become valid any more.
func ruleLimitLost(e *evidence) *Cause {
	var lost *limitLost
	if e.outside || !errors.As(e.ended, &lost) {
		return nil
	}
	return &Cause{Code: "scenario_limit", Text: lost.Error(), Value: lost.Over, Limit: lost.Bearable}
}

// ruleEndedEarly: no test that was cut short is valid, be every sample of it answered.
func ruleEndedEarly(e *evidence) *Cause {
	if e.ended == nil || e.outside || e.record.Samples.Failed > 0 { // ruleFailed tells the cause too
		return nil
	}
	return &Cause{Code: "failed_samples", Text: fmt.Sprintf("the test was ended: %v", e.ended)}
}

func ruleLogComplete(e *evidence) *Cause {
	if e.ended != nil || e.logs != nil && e.logs.Complete {
		return nil
	}
	if e.logs == nil || len(e.logs.Missing) == 0 {
		return &Cause{Code: "log_incomplete", Text: "LoadGen left no logs, although the test ran to its end"}
	}
	return &Cause{Code: "log_incomplete", Text: "LoadGen's logs are not whole, although the test ran to its end: " +
		e.logs.Missing[0] + ". Is the disk full, or did another program change them?", Value: e.logs.Missing}
}

func ruleLoadGen(e *evidence) *Cause {
	if e.plan.Mode == models.Accuracy || e.auditRun() || e.logs == nil || e.logs.Valid != nil && *e.logs.Valid {
		return nil
	}
	if e.logs.Valid == nil {
		if e.ended != nil {
			return nil // the cause of the early end says more
		}
		return &Cause{Code: "loadgen_invalid", Text: "LoadGen came to no verdict"}
	}
	text := "LoadGen says INVALID"
	if why, ok := e.logs.Result["result_invalid_reason"].(string); ok && why != "" {
		text += ": " + strings.TrimSpace(why)
	}
	if e.logs.Result["early_stopping_met"] == false {
		text += earlyStopping(e.logs)
	}
	return &Cause{Code: "loadgen_invalid", Text: text}
}

// earlyStopping gives LoadGen's advice: its log has no other reason when only early stopping fails.
func earlyStopping(logs *mllog.Result) string {
	text := ""
	for _, key := range []string{"early_stopping_ttft_result", "early_stopping_tpot_result", "early_stopping_result"} {
		if advice, ok := logs.Result[key].(string); ok && advice != "" && !strings.Contains(advice, "Run successful") {
			text += "; early stopping: " + strings.Join(strings.Fields(strings.ReplaceAll(advice, "*", "")), " ")
		}
	}
	return text
}

func ruleLoadGenErrors(e *evidence) *Cause {
	if e.logs == nil || e.logs.Errors == 0 {
		return nil
	}
	c := &Cause{Code: "loadgen_errors", Text: fmt.Sprintf("LoadGen logged %d errors", e.logs.Errors), Value: e.logs.Errors,
		Limit: 0}
	if len(e.logs.ErrorTexts) > 0 {
		first := e.logs.ErrorTexts[0]
		c.Text += fmt.Sprintf("; the first, %d times: %s", first.Count, first.Text)
	}
	if n := e.record.oneToken; n > 0 && e.plan.Row.UseTokenLatencies { // in Offline too, where no first token is reported
		c.Text += fmt.Sprintf(". %d answers have one token, which LoadGen counts as an error; set --min-tokens 2 where the "+
			"rules allow", n)
	}
	return c
}

func ruleAudit(e *evidence) *Cause {
	if e.audit && !e.auditRun() {
		return &Cause{Code: "stray_audit_config", Text: "LoadGen took settings from an audit configuration that nobody " +
			"asked for"}
	}
	if e.auditRun() && !e.audit && e.ended == nil {
		return &Cause{Code: "compliance_failed", Text: "LoadGen did not say that it applied the audit configuration"}
	}
	return nil
}

func ruleFailed(e *evidence) *Cause {
	s := e.record.Samples
	if s.Failed == 0 {
		return nil
	}
	text := fmt.Sprintf("%d of %d samples failed", s.Failed, s.Issued)
	for _, reason := range mostFirst(s.FailedByReason) {
		text += fmt.Sprintf(", %s %d", reason, s.FailedByReason[reason])
	}
	if e.ended != nil {
		text += fmt.Sprintf("; the test was ended: %v", e.ended)
	}
	return &Cause{Code: "failed_samples", Text: text, Value: s.Failed, Limit: 0}
}

// mostFirst gives the keys, those of large counts first.
func mostFirst[K cmp.Ordered](counts map[K]int64) []K {
	return slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

func ruleUnfinished(e *evidence) *Cause {
	s := e.record.Samples
	if s.Issued == s.Completed && s.Issued > 0 {
		return nil
	}
	return &Cause{Code: "failed_samples", Text: fmt.Sprintf("%d samples were issued and %d completed", s.Issued,
		s.Completed), Value: s.Issued - s.Completed, Limit: 0}
}

func ruleEmpty(e *evidence) *Cause {
	if n := e.record.Samples.Empty; n > 0 {
		return &Cause{Code: "empty_outputs", Text: fmt.Sprintf("%d answers have no output token", n), Value: n, Limit: 0}
	}
	return nil
}

func ruleFirstTokens(e *evidence) *Cause {
	s := e.record.Samples
	if missing := s.Completed - s.Failed - s.FirstTokens; e.tokens && missing > 0 {
		return &Cause{Code: "missing_first_tokens", Text: fmt.Sprintf("%d successful samples have no first token", missing),
			Value: missing, Limit: 0}
	}
	return nil
}

func ruleTokenCounts(e *evidence) *Cause {
	if n := e.record.Tokens.Mismatches; n > 0 {
		return &Cause{Code: "token_mismatch", Text: fmt.Sprintf("in %d answers the server's token count is not the number "+
			"of its ids", n), Value: n, Limit: 0}
	}
	return nil
}

// rulePrompts: a server that cuts prompts, or puts tokens before them, answers another benchmark.
func rulePrompts(e *evidence) *Cause {
	if n := e.record.otherPrompts; n > 0 {
		return &Cause{Code: "token_mismatch", Text: fmt.Sprintf("in %d answers the server counted another number of prompt "+
			"tokens than the token ids that it was sent: does it cut prompts, or put a token before them?", n), Value: n,
			Limit: 0}
	}
	return nil
}

// ruleMisreported: every sample has one first token at most and one end. What was refused did not reach LoadGen, but
// whoever reported it is wrong about something else too.
func ruleMisreported(e *evidence) *Cause {
	if n := e.record.misreported; n > 0 {
		return &Cause{Code: "misreported", Text: fmt.Sprintf("%d times a first token or an end was reported again, or of a "+
			"sample that LoadGen had not issued: this is a bug, please report it with the run's folder", n), Value: n, Limit: 0}
	}
	return nil
}

// ruleUnasked: an answer that nothing asked for may have come in the place of another, and so may other bytes where
// answers carry no ids by which they could be told apart. One is enough.
func ruleUnasked(e *evidence) *Cause {
	a, inLoops := e.record.Answers, int64(0)
	for _, loop := range e.record.Client.Loops {
		inLoops += loop.Unasked
	}
	switch n := max(a.Unasked, inLoops); {
	case n > 0:
		return &Cause{Code: "unasked_answers", Text: fmt.Sprintf("%d answers came that nothing had asked for, and one that "+
			"comes when the next request is out is taken for the answer to that", n), Value: n, Limit: 0}
	case a.Strays > 0 && !a.Identified:
		return &Cause{Code: "unasked_answers", Text: fmt.Sprintf("%d times bytes came that nothing had asked for, and the "+
			"answers carry no ids of their requests: whose they are can not be told", a.Strays), Value: a.Strays, Limit: 0}
	}
	return nil
}

// ruleModel: a server that was asked again, after it came back or at the end, served another model than before the
// test.
func ruleModel(e *evidence) *Cause {
	if n := len(e.record.otherModels); n > 0 {
		return &Cause{Code: "wrong_model", Text: e.record.otherModels[0], Value: n, Limit: 0}
	}
	return nil
}

// limitApplies: the scenario's limits are asserted on a test that measured, by us as well as by LoadGen, because
// LoadGen would test an Interactive run that got the wrong key with Server's limits.
func (e *evidence) limitApplies() bool {
	return e.plan.Mode == models.Performance && !e.auditRun() && e.ended == nil && e.logs != nil
}

func ruleTTFTLimit(e *evidence) *Cause {
	return e.tokenLimit("ttft-limit", "time to first token", "result_first_token_99.00_percentile_latency_ns")
}

func ruleTPOTLimit(e *evidence) *Cause {
	return e.tokenLimit("tpot-limit", "time per output token", "result_time_per_output_token_99.00_percentile_ns")
}

func (e *evidence) tokenLimit(setting, what, key string) *Cause {
	if !e.tokens {
		return nil
	}
	return e.scenarioLimit(e.plan.Config.Duration(setting), what, key)
}

// ruleLatencyLimit is for benchmarks that limit the whole answer and not its tokens.
func ruleLatencyLimit(e *evidence) *Cause {
	return e.scenarioLimit(e.plan.latencyLimit(), "whole answer", "result_99.00_percentile_latency_ns")
}

// scenarioLimit wants LoadGen's 99th percentile strictly below the limit, as the submission checker does
// (docs/reference/benchmarks.md#limits-and-counts).
func (e *evidence) scenarioLimit(limit time.Duration, what, key string) *Cause {
	if !e.limitApplies() || limit <= 0 {
		return nil
	}
	ns, ok := number64(e.logs.Result[key])
	switch {
	case ok && ns < float64(limit), !ok && !e.logs.Complete: // of which ruleLogComplete tells
		return nil
	case !ok:
		return &Cause{Code: "scenario_limit", Text: fmt.Sprintf("LoadGen logged no 99th percentile of the %s, which must "+
			"be under %v in %s", what, limit, e.plan.Scenario.Scenario), Limit: limit.Seconds()}
	}
	return &Cause{Code: "scenario_limit", Text: fmt.Sprintf("the 99th percentile of the %s is %v, the limit of %s is %v",
		what, time.Duration(ns).Round(10*time.Microsecond), e.plan.Scenario.Scenario, limit),
		Value: ns / 1e9, Limit: limit.Seconds()}
}

// lagShare is the part of a limit that the client itself may use up (docs/reference/troubleshooting.md#verdict-codes).
const lagShare = 0.1

// ruleDispatchLag goes by the limit of the first token, or of the whole answer where that is what is limited.
func ruleDispatchLag(e *evidence) *Cause {
	tolerance := max(e.tokenTime("ttft-limit"), e.plan.latencyLimit())
	return e.lag(e.record.Client.DispatchLagUS.P99, tolerance, "from scheduled to sent", "the limit for the first token")
}

func ruleReportLag(e *evidence) *Cause {
	tolerance := e.tokenTime("tpot-limit") * time.Duration(max(e.medianN-1, 1))
	return e.lag(e.record.Client.ReportLagUS.P99, tolerance, "from readable to reported",
		"the time that the tokens may take")
}

// tokenTime is a limit per token; 0 where none is measured.
func (e *evidence) tokenTime(setting string) time.Duration {
	if !e.tokens {
		return 0
	}
	return e.plan.Config.Duration(setting)
}

// lag wants the client's own share below a tenth of a limit.
func (e *evidence) lag(us float64, limit time.Duration, what, of string) *Cause {
	most := limit.Seconds() * lagShare * 1e6
	if !e.limitApplies() || limit <= 0 || us <= most {
		return nil
	}
	return &Cause{Code: "client_lag", Text: fmt.Sprintf("the 99th percentile %s is %.0f us, above a tenth of %s: the "+
		"client is too slow for this load. Is another program using this machine, or the server? Give the client cores of "+
		"its own", what, us, of), Value: us, Limit: most}
}

func ruleClock(e *evidence) *Cause {
	if !hostinfo.Stepped(e.drift) {
		return nil
	}
	return &Cause{Code: "clock_step", Text: fmt.Sprintf("the wall clock, with which LoadGen measures, moved by %v "+
		"against the monotonic clock", e.drift),
		Value: e.drift.Seconds(), Limit: hostinfo.ClockStepLimit.Seconds()}
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
