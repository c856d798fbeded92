package record

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/models"
)

// accuracyBelowTarget: an accuracy test below the benchmark's target is complete but not valid. Answers that could not
// be scored claim nothing.
func accuracyBelowTarget(e *Evidence) *Cause {
	if e.Result == nil {
		return nil
	}
	short := e.Result.Short(e.Rehearsal)
	if len(short) == 0 {
		return nil
	}
	text := "the answers are below target:"
	for i, m := range short {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %s is %s and must be %s", m.Name, strings.Trim(m.Text, "'"), m.Bounds())
	}
	c := &Cause{Code: CodeAccuracyBelowTarget, Text: text, Value: short[0].Value, Limit: short[0].Min}
	if short[0].Value >= short[0].Min {
		c.Limit = short[0].Max
	}
	return c
}

// accuracyUnclaimed: a score of a part of the data set, or of a log of several tests, does not count.
func accuracyUnclaimed(e *Evidence) *Cause {
	if e.Result == nil || len(e.Result.Unclaimed) == 0 {
		return nil
	}
	return noneAllowed(CodeAccuracyBelowTarget, len(e.Result.Unclaimed), strings.Join(e.Result.Unclaimed, "; "))
}

// notScored: without --no-score, answers without a score make an accuracy test INVALID. If the test did not run to its
// end, other rules report why.
func notScored(e *Evidence) *Cause {
	if e.Mode != models.Accuracy || !e.Score || e.Ended != nil || e.Logs == nil ||
		!e.Logs.Complete {
		return nil
	}
	const logOnly = "; --no-score asks for the log only"
	s := e.Record.Accuracy
	if s == nil || s.NotScored != "" {
		why := "nothing was there to score them with"
		if s != nil {
			why = s.NotScored
		}
		return noneAllowed(CodeNotScored, e.Record.Samples.Completed, "the answers were not scored: "+why+logOnly)
	}
	n, parts := 0, ""
	for _, u := range s.Unscored {
		n += u.Samples
		parts += fmt.Sprintf("; %d of %s: %s", u.Samples, u.Subset, u.Why)
	}
	if n == 0 {
		return nil
	}
	return noneAllowed(CodeNotScored, n, fmt.Sprintf("%d of %d answers were not scored%s%s", n,
		e.Record.Samples.Completed, parts, logOnly))
}
