package record

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/models"
)

func logIncomplete(e *Evidence) *Cause {
	if e.Ended != nil || e.Logs != nil && e.Logs.Complete {
		return nil
	}
	if e.Logs == nil || len(e.Logs.Missing) == 0 {
		return &Cause{Code: CodeLogIncomplete, Text: "LoadGen wrote no logs, although the test ran to its end"}
	}
	return &Cause{Code: CodeLogIncomplete, Text: "LoadGen's logs are incomplete, although the test ran to its end: " +
		e.Logs.Missing[0] + ". Is the disk full, or did another program change them?", Value: e.Logs.Missing}
}

func loadgenInvalid(e *Evidence) *Cause {
	if e.Mode == models.Accuracy || e.Audit || e.Logs == nil || e.Logs.Valid != nil && *e.Logs.Valid {
		return nil
	}
	if e.Interrupted { // a test without its end cannot reach LoadGen's minima
		return nil
	}
	if e.Logs.Valid == nil {
		if e.Ended != nil {
			return nil // the cause of the early end explains more
		}
		return &Cause{Code: CodeLoadGenInvalid, Text: "LoadGen logged no verdict"}
	}
	text := "LoadGen reports INVALID"
	if why, ok := e.Logs.Result["result_invalid_reason"].(string); ok && why != "" {
		text += ": " + strings.TrimSpace(why)
	}
	text += e.tooShort()
	if e.Logs.Result["early_stopping_met"] == false {
		text += earlyStopping(e.Logs)
	}
	return &Cause{Code: CodeLoadGenInvalid, Text: text}
}

// The factors of tooShort's advice: a longer test has a higher rate, because it spends a smaller part of its time
// on the last answers, when the server is no longer busy. A test of less than a tenth of the length consists mostly
// of them.
const (
	rateMargin      = 1.2
	shortRateMargin = 2
)

// tooShort returns the --target-qps with which an Offline test that was too short lasts long enough. LoadGen's own
// reason names no flag.
func (e *Evidence) tooShort() string {
	ms, ok := number64(e.Logs.Result["effective_min_duration_ms"])
	rate := e.Record.Throughput.Requests
	if !ok || e.Scenario != models.Offline || e.Logs.Result["result_min_duration_met"] != false ||
		e.Ended != nil || e.Record.Samples.Failed > 0 || rate <= 0 {
		return ""
	}
	margin := rateMargin
	if e.Record.DurationS < ms/1e3/10 {
		margin = shortRateMargin
	}
	return fmt.Sprintf(" The test ended after %.2f s of %g s: pass --target-qps %s or more", e.Record.DurationS, ms/1e3,
		roundUp(margin*rate))
}

// roundUp returns a positive number with three significant digits, or all digits of its integer part, not below it.
func roundUp(v float64) string {
	digits := max(0, 2-int(math.Floor(math.Log10(v))))
	unit := math.Pow10(-digits)
	return strconv.FormatFloat(math.Ceil(v/unit)*unit, 'f', digits, 64)
}

// earlyStopping returns LoadGen's advice: its log contains no other reason if only early stopping failed.
func earlyStopping(logs *mllog.Result) string {
	text := ""
	for _, key := range []string{"early_stopping_ttft_result", "early_stopping_tpot_result", "early_stopping_result"} {
		if advice, ok := logs.Result[key].(string); ok && advice != "" && !strings.Contains(advice, "Run successful") {
			text += "; early stopping: " + strings.Join(strings.Fields(strings.ReplaceAll(advice, "*", "")), " ")
		}
	}
	return text
}

// noTokenError begins LoadGen's error about a sample that is completed without a token (loadgen/logging.cc,
// 6.0.17).
const noTokenError = "n_tokens argument missing"

// errorsLogged returns the number of LoadGen's errors and their texts, without those about samples that an interruption
// cancelled.
func (e *Evidence) errorsLogged() (int, []mllog.Text) {
	cancelled, errors := int(e.cancelled()), e.Logs.Errors
	var texts []mllog.Text
	for _, t := range e.Logs.ErrorTexts {
		if strings.HasPrefix(t.Text, noTokenError) {
			follow := min(t.Count, cancelled)
			t.Count, errors, cancelled = t.Count-follow, errors-follow, cancelled-follow
		}
		if t.Count > 0 {
			texts = append(texts, t)
		}
	}
	return errors, texts
}

func loadgenErrors(e *Evidence) *Cause {
	if e.Logs == nil {
		return nil
	}
	errors, texts := e.errorsLogged()
	if errors <= 0 {
		return nil
	}
	c := noneAllowed(CodeLoadGenErrors, errors, "LoadGen logged "+plural.Count(errors, "error", "errors"))
	if len(texts) > 0 {
		first := texts[0]
		c.Text += fmt.Sprintf("; the first (%s): %s", plural.Count(first.Count, "time", "times"), first.Text)
		if strings.HasPrefix(first.Text, noTokenError) && int64(first.Count) <= e.Record.Samples.Failed-e.cancelled() {
			c.Text += ". LoadGen logs this for every failed sample, so it is not another fault"
		}
	}
	if n := e.OneToken; n > 0 && e.TokenLatencies { // in Offline too, where no first token is reported
		c.Text += fmt.Sprintf(". %s one token, which LoadGen counts as an error; set --min-tokens 2 where the rules allow",
			plural.Count(n, "answer has", "answers have"))
	}
	return c
}

func auditApplied(e *Evidence) *Cause {
	if e.AuditApplied && !e.Audit {
		return &Cause{Code: CodeStrayAuditConfig, Text: "LoadGen applied an audit configuration without " +
			"--audit-config"}
	}
	if e.Audit && !e.AuditApplied && e.Ended == nil {
		return &Cause{Code: CodeComplianceFailed, Text: "LoadGen did not log that it applied the audit configuration"}
	}
	return nil
}
