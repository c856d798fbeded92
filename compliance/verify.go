package compliance

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
)

// Input holds the inputs of a verification. Compliance is always required. The comments of the other fields name the
// tests that require them.
type Input struct {
	Compliance           string // folder with the logs of the audit's run
	ReferenceAccuracy    string // TEST01, TEST08: folder with the logs of the accuracy run
	ReferencePerformance string // TEST01, TEST04: folder with the logs of the performance run

	Scenario models.Scenario // TEST06: required; in other tests, the logs must be of this scenario if it is set
	// end tokens, vocabulary and number of samples for the strict checks; nil: these are not checked
	Row   *models.Row
	Audit *Audit // settings of the run; nil: the official ones of Row, if set

	Type DType // encoding of the answers; "": bytes for TEST01, int32 for TEST06
	// TEST06: value of the official script's option -e, with which its end token check never fails; "": the default, 2
	EOSOption  string
	AuditFile  string   // TEST07, TEST09: audit.config with thresholds; nil thresholds fall back to it, then to Audit
	Threshold  *float64 // TEST07: lowest score in percent
	MinTokens  *float64 // TEST09: smallest mean number of output tokens
	MaxTokens  *float64 // TEST09: largest mean number of output tokens
	Evaluator  string   // TEST07: output of the accuracy evaluation
	ScoreMatch string   // TEST07: regular expression whose first group is the score; "": the official one
	Tolerance  *float64 // TEST08: largest relative difference; nil: the official one

	Now time.Time // time of the time stamps in TEST01's files
}

// audit is the state of a verification.
type audit struct {
	Input
	asked *Audit // audit that the run should have used; nil: unknown
	out   *Result
	facts map[string]*detail // detail logs that were read so far, by path
}

// verifier describes the verification of a test.
type verifier struct {
	needs   []string // names of the required fields of Input
	judge   func(*audit) error
	general generalCheck
}

var verifiers = map[string]verifier{
	Test01: {[]string{"ReferenceAccuracy", "ReferencePerformance"}, (*audit).test01, strictErrors},
	Test04: {[]string{"ReferencePerformance"}, (*audit).test04, strictErrors},
	Test06: {[]string{"Scenario"}, (*audit).test06, detailOptional},
	Test07: {nil, (*audit).test07, 0},
	Test08: {[]string{"ReferenceAccuracy"}, (*audit).test08, 0},
	Test09: {nil, (*audit).test09, 0},
}

// Verify judges the logs of an audit's run. Faults inside a log become findings of a failed Result. Verify returns an
// error only if a file is absent or unreadable, or a field of in is missing.
func Verify(test string, in Input) (*Result, error) {
	if err := in.Complete(test); err != nil {
		return nil, err
	}
	v := verifiers[test]
	a := newAudit(test, in)
	if a.asked == nil && in.Row != nil {
		var err error
		if a.asked, err = Find(test, in.Row.Name); err != nil {
			a.out.add(Warning, "audit_unknown", "", "LoadGen's settings are not checked: %v", err)
		}
	}
	a.out.Rehearsal = a.asked != nil && a.asked.Scaled
	if err := v.judge(a); err != nil {
		return nil, fmt.Errorf("%s: %w", test, err)
	}
	a.general(v.general)
	a.out.Logs = logsOf(test, in.Compliance)
	return a.out, nil
}

func newAudit(test string, in Input) *audit {
	return &audit{
		Input: in, asked: in.Audit, facts: map[string]*detail{},
		out: &Result{Test: test, Strict: []Finding{}, Figures: map[string]any{}, Files: map[string]string{}},
	}
}

// Complete returns an error that names the missing inputs of a test's verification. It opens no file.
func (in *Input) Complete(test string) error {
	v, ok := verifiers[test]
	if !ok {
		return unknownTest(test)
	}
	given := map[string]bool{
		"ReferenceAccuracy": in.ReferenceAccuracy != "", "ReferencePerformance": in.ReferencePerformance != "",
		"Scenario": in.Scenario != "",
	}
	names := map[string]string{
		"ReferenceAccuracy": "the folder of the accuracy run", "ReferencePerformance": "the folder of the performance run",
		"Scenario": "the scenario",
	}
	if in.Compliance == "" {
		return fmt.Errorf("%s needs the folder with the logs of its run", test)
	}
	for _, n := range v.needs {
		if !given[n] {
			return fmt.Errorf("%s compares with other runs or scenarios: pass %s", test, names[n])
		}
	}
	return nil
}

func (a *audit) log(name string) string { return filepath.Join(a.Compliance, name) }

// readAccuracy reads an accuracy log. Like the official scripts, which parse the file as JSON, it rejects an incomplete
// one.
func readAccuracy(path string, fn func(*mllog.AccuracyEntry) error) (records int, err error) {
	log, err := mllog.ReadAccuracyFile(path, fn)
	if err == nil && log.Truncated {
		err = fmt.Errorf("%s ends after record %d without its closing bracket: the run was cut off; run it again", path,
			log.Records)
	}
	return log.Records, err
}

// unreadable reports whether an error comes from the file system, not from the content of a log.
func unreadable(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p)
}
