package campaign

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Finding is the judgement of a step's folder.
type Finding struct {
	Status  Status
	Code    Code
	Why     string
	Record  *record.Record // nil: the folder has none
	Changes []Change       // settings that differ from the required ones
}

// Want is what a run must have been for its result to count.
type Want struct {
	Model    string
	Step     Step
	Settings Settings // nil: any
	Real     bool     // a rehearsal does not count
}

// Judge reads a run's folder. A valid run counts only if it ran this test with these settings, and if LoadGen's logs
// are unchanged since.
func (w Want) Judge(folder string) Finding {
	r, err := record.Read(folder)
	switch {
	case err != nil && untouched(folder):
		return Finding{Status: Pending}
	case errors.Is(err, fs.ErrNotExist):
		return Finding{Status: Crashed, Code: CodeCrashed,
			Why: "its folder has no " + record.FileName + ": the run ended before it could write one"}
	case err != nil:
		return Finding{Status: Crashed, Code: CodeCrashed, Why: err.Error()}
	}
	f := Finding{Status: Done, Record: r}
	switch {
	case r.Model != w.Model || r.Scenario != string(w.Step.Scenario) || r.Mode != string(w.Step.Mode()) ||
		r.Audit() != w.Step.Audit():
		f.Status, f.Code, f.Why = Pending, CodeOtherTest, "its folder holds "+r.Test()
	case r.Verdict == record.Interrupted:
		f.Status, f.Code, f.Why = Failed, codeInterrupted, reasons(r)
	case !r.ValidBut(record.CodeNotScored): // the log counts; scoring is another step
		f.Status, f.Code, f.Why = Invalid, firstCode(r), reasons(r)
	case w.Real && r.Rehearsal:
		f.Status, f.Code, f.Why = Pending, CodeRehearsal,
			"its folder holds a rehearsal: "+strings.Join(r.RehearsalReasons, "; ")
	default:
		w.unharmed(folder, r, &f)
	}
	return f
}

// unharmed checks the settings and the logs of a valid run, and an audit's verdict.
func (w Want) unharmed(folder string, r *record.Record, f *Finding) {
	if w.Settings != nil {
		was, err := FolderSettings(folder, r)
		if err != nil {
			f.Status, f.Code, f.Why = Crashed, CodeSettingsLost, err.Error()
			return
		}
		if f.Changes = changes(was, w.Settings); len(f.Changes) > 0 {
			f.Status, f.Code, f.Why = Pending, CodeSettingsChanged, sentence(f.Changes)
			return
		}
	}
	if err := r.Intact(folder); err != nil {
		f.Status, f.Code, f.Why = Crashed, CodeLogDamaged, err.Error()
		return
	}
	if w.Step.Audit() {
		w.audited(folder, f)
	}
}

// audited reads the verdict of an audit's verification.
func (w Want) audited(folder string, f *Finding) {
	v, err := compliance.ReadVerdict(filepath.Join(folder, layout.VerifyFolder))
	switch {
	case err != nil:
		f.Status, f.Code, f.Why = Crashed, CodeNotVerified, err.Error()
	case v.Test != w.Step.Test:
		f.Status, f.Code, f.Why = Pending, CodeOtherTest, "its folder holds the verification of "+v.Test
	case w.Real && v.Rehearsal:
		f.Status, f.Code, f.Why = Pending, CodeRehearsal,
			"its folder holds an audit of fewer queries than "+v.Test+" requires"
	case !v.OK:
		f.Status, f.Code, f.Why = Invalid, CodeComplianceFailed, v.Why()
	}
}

// untouched reports whether no run was begun in a folder.
func untouched(folder string) bool {
	entries, err := os.ReadDir(folder)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

func firstCode(r *record.Record) Code {
	if len(r.Reasons) == 0 {
		return CodeInvalid
	}
	return Code(r.Reasons[0].Code)
}

func reasons(r *record.Record) string {
	var texts []string
	for _, c := range r.Reasons {
		texts = append(texts, fmt.Sprintf("%s: %s", c.Code, c.Text))
	}
	return strings.Join(texts, "; ")
}

// readScore returns the score in an accuracy run's folder; nil: it has none, or an unreadable one.
func readScore(folder string) *accuracy.Result {
	text, err := os.ReadFile(filepath.Join(folder, ScoreRecord))
	if err != nil {
		return nil
	}
	var score accuracy.Result
	if err := json.Unmarshal(text, &score); err != nil {
		return nil
	}
	return &score
}

// lookScored judges the score in an accuracy run's folder. anyScore accepts a score below the target, as the open
// division does. A score of only some of the answers does not count in any division.
func lookScored(folder string, anyScore bool) Finding {
	score := readScore(folder)
	if score == nil {
		return Finding{Status: Pending}
	}
	if _, err := os.Stat(filepath.Join(folder, layout.ScoreFile)); err != nil {
		return Finding{Status: Pending}
	}
	r, err := record.Read(folder)
	if err != nil {
		return Finding{Status: Pending}
	}
	unscored := 0
	for _, u := range score.Unscored {
		unscored += u.Samples
	}
	see := ": see " + filepath.Join(folder, ScoreRecord)
	switch {
	case unscored > 0:
		return Finding{Status: Invalid, Code: codeNotScored,
			Why: fmt.Sprintf("%d of %d answers were not scored%s", unscored, score.Entries, see)}
	case len(score.Unclaimed) > 0:
		return Finding{Status: Invalid, Code: codeBelowTarget,
			Why: "the score cannot be claimed: " + strings.Join(score.Unclaimed, "; ")}
	case r.Rehearsal && score.NotJudged != "":
		return Finding{Status: Done, Code: CodeNotJudged, Why: score.NotJudged}
	case score.Reached(r.Rehearsal):
		return Finding{Status: Done}
	case anyScore:
		return Finding{Status: Done, Code: codeBelowTarget,
			Why: "the score is below the closed division's target" + shortOf(score, r.Rehearsal)}
	}
	return Finding{Status: Invalid, Code: codeBelowTarget, Why: "the score is below the target" +
		cmp.Or(shortOf(score, r.Rehearsal), see) + "; --division open accepts any score"}
}

// shortOf lists the metrics below their targets, as the end of a sentence.
func shortOf(score *accuracy.Result, rehearsal bool) string {
	var list []string
	for _, m := range score.Short(rehearsal) {
		list = append(list, fmt.Sprintf("%s %s, needs %s", m.Name, strings.Trim(m.Text, "'"), m.Bounds()))
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, "; ")
}

// HasScore reports whether an accuracy run's folder holds a score that may be claimed.
func HasScore(folder string) bool { return lookScored(folder, false).Status == Done }

// ScoreRecord is the score with its details, beside accuracy.txt.
const ScoreRecord = "accuracy.json"
