package record

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
)

func logIncomplete(e *Evidence) *Cause {
	if e.Ended != nil || e.Logs != nil && e.Logs.Complete {
		return nil
	}
	if e.Logs == nil || len(e.Logs.Missing) == 0 {
		return &Cause{Code: CodeLogIncomplete, Text: "LoadGen left no logs, although the test ran to its end"}
	}
	return &Cause{Code: CodeLogIncomplete, Text: "LoadGen's logs are incomplete, although the test ran to its end: " +
		e.Logs.Missing[0] + ". Is the disk full, or did another program change them?", Value: e.Logs.Missing}
}

func loadgenInvalid(e *Evidence) *Cause {
	if e.Mode == models.Accuracy || e.Audit || e.Logs == nil || e.Logs.Valid != nil && *e.Logs.Valid {
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
	if e.Logs.Result["early_stopping_met"] == false {
		text += earlyStopping(e.Logs)
	}
	return &Cause{Code: CodeLoadGenInvalid, Text: text}
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

func loadgenErrors(e *Evidence) *Cause {
	if e.Logs == nil || e.Logs.Errors == 0 {
		return nil
	}
	c := &Cause{Code: CodeLoadGenErrors, Text: fmt.Sprintf("LoadGen logged %d errors", e.Logs.Errors),
		Value: e.Logs.Errors,
		Limit: 0}
	if len(e.Logs.ErrorTexts) > 0 {
		first := e.Logs.ErrorTexts[0]
		c.Text += fmt.Sprintf("; the first (%d times): %s", first.Count, first.Text)
	}
	if n := e.OneToken; n > 0 && e.TokenLatencies { // in Offline too, where no first token is reported
		c.Text += fmt.Sprintf(". %d answers have one token, which LoadGen counts as an error; set --min-tokens 2 where the "+
			"rules allow", n)
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
