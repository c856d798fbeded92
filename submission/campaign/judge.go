package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Finding is what a step's folder says about the step.
type Finding struct {
	Status  Status
	Code    string
	Why     string
	Record  *record.Record // nil: there is none
	Changes []Change       // settings that differ from the ones wanted
}

// Want is what a step must have been for its result to count.
type Want struct {
	Model    string
	Step     Step
	Settings Settings // nil: whatever they were
	Real     bool     // a rehearsal does not count
}

// Judge reads a run's folder. A valid run counts only when it was of this very test, with these settings, and when
// LoadGen's logs are still what the run has left.
func (w Want) Judge(folder string) Finding {
	r, err := record.Read(folder)
	switch {
	case err != nil && untouched(folder):
		return Finding{Status: Pending}
	case errors.Is(err, fs.ErrNotExist):
		return Finding{Status: Crashed, Code: "crashed",
			Why: "its folder has no " + record.FileName + ": it was ended before it could tell"}
	case err != nil:
		return Finding{Status: Crashed, Code: "crashed", Why: err.Error()}
	}
	f := Finding{Status: Done, Record: r}
	switch {
	case r.Model != w.Model || r.Scenario != string(w.Step.Scenario) || r.Mode != string(w.Step.Mode()) ||
		r.Audit() != w.Step.Audit():
		f.Status, f.Code, f.Why = Pending, "other_test", "its folder holds "+r.Test()
	case r.Verdict == record.Interrupted:
		f.Status, f.Code, f.Why = Failed, "interrupted", reasons(r)
	case !r.ValidBut(record.CodeNotScored): // the log counts; its score is a step of its own
		f.Status, f.Code, f.Why = Invalid, firstCode(r), reasons(r)
	case w.Real && r.Rehearsal:
		f.Status, f.Code, f.Why = Pending, "rehearsal",
			"its folder holds a rehearsal: "+strings.Join(r.RehearsalReasons, "; ")
	default:
		w.unharmed(folder, r, &f)
	}
	return f
}

// unharmed looks at a valid run more closely: its settings, its logs, and an audit's verdict.
func (w Want) unharmed(folder string, r *record.Record, f *Finding) {
	if w.Settings != nil {
		was, err := FolderSettings(folder, r)
		if err != nil {
			f.Status, f.Code, f.Why = Crashed, "settings_lost", err.Error()
			return
		}
		if f.Changes = changes(was, w.Settings); len(f.Changes) > 0 {
			f.Status, f.Code, f.Why = Pending, "settings_changed", sentence(f.Changes)
			return
		}
	}
	if err := intact(folder, r); err != nil {
		f.Status, f.Code, f.Why = Crashed, "log_damaged", err.Error()
		return
	}
	if w.Step.Audit() {
		w.audited(folder, f)
	}
}

// audited reads what the verification of an audit has left.
func (w Want) audited(folder string, f *Finding) {
	v, err := compliance.ReadVerdict(filepath.Join(folder, layout.VerifyFolder))
	switch {
	case err != nil:
		f.Status, f.Code, f.Why = Crashed, "not_verified", err.Error()
	case v.Test != w.Step.Test:
		f.Status, f.Code, f.Why = Pending, "other_test", "its folder holds the verification of "+v.Test
	case w.Real && v.Rehearsal:
		f.Status, f.Code, f.Why = Pending, "rehearsal", "its folder holds an audit of fewer queries than "+v.Test+" asks for"
	case !v.OK:
		f.Status, f.Code, f.Why = Invalid, "compliance_failed", v.Why()
	}
}

// untouched says that no run was begun in a folder.
func untouched(folder string) bool {
	entries, err := os.ReadDir(folder)
	return errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0
}

// intact compares the files that a submission carries with the sums that the run has noted.
func intact(folder string, r *record.Record) error {
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		if name != record.UserConfName && !strings.HasPrefix(name, record.LogFolder+"/") {
			continue
		}
		sum, err := atomicfile.SHA256(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			return fmt.Errorf("a log of the run can not be read: %w", err)
		}
		if sum != r.Files[name] {
			return fmt.Errorf("%s is not what the run has left: its SHA-256 is %s and was %s", name, sum, r.Files[name])
		}
	}
	return nil
}

func firstCode(r *record.Record) string {
	if len(r.Reasons) == 0 {
		return "invalid"
	}
	return string(r.Reasons[0].Code)
}

func reasons(r *record.Record) string {
	var texts []string
	for _, c := range r.Reasons {
		texts = append(texts, fmt.Sprintf("%s: %s", c.Code, c.Text))
	}
	return strings.Join(texts, "; ")
}

// readScore gives the score that lies in an accuracy run's folder; nil: there is none that can be read.
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

// lookScored judges the score of an accuracy run's folder. anyScore accepts one below the target: the open division. A
// score over a part of the answers is none, in no division.
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
		return Finding{Status: Invalid, Code: string(record.CodeNotScored),
			Why: fmt.Sprintf("%d of %d answers were not scored%s", unscored, score.Entries, see)}
	case len(score.Unclaimed) > 0:
		return Finding{Status: Invalid, Code: belowTarget,
			Why: "the score can not be claimed: " + strings.Join(score.Unclaimed, "; ")}
	case score.Reached(r.Rehearsal):
		return Finding{Status: Done}
	case anyScore:
		return Finding{Status: Done, Code: belowTarget, Why: "the score is below the closed division's target"}
	}
	return Finding{Status: Invalid, Code: belowTarget, Why: "the score is below the target" + see}
}

// HasScore reports whether an accuracy run's folder holds a score that may be claimed.
func HasScore(folder string) bool { return lookScored(folder, false).Status == Done }

// belowTarget is the word of the verdict's list for a score that is too low
// (docs/reference/troubleshooting.md#verdict-codes).
const belowTarget = "accuracy_below_target"

// ScoreRecord is the score with its details, beside accuracy.txt.
const ScoreRecord = "accuracy.json"
