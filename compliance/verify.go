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

// Input is what a verification looks at. Compliance is always needed; the other fields are for the tests that they
// name.
type Input struct {
	Compliance           string // folder with the logs of the audit's run
	ReferenceAccuracy    string // TEST01, TEST08: folder with the logs of the accuracy run
	ReferencePerformance string // TEST01, TEST04: folder with the logs of the performance run

	Scenario models.Scenario // TEST06: needed; elsewhere, where given, the logs must be of it
	// for the strict reading: end tokens, vocabulary, number of samples; nil: these are not checked
	Row   *models.Row
	Audit *Audit // what the run was asked for; nil: the official one of Row, if there is a Row

	Type DType // how the answers are encoded; empty: bytes for TEST01, int32 for TEST06
	// TEST06: the official script's option -e, under which its end token check finds nothing; empty: its default, 2
	EOSOption  string
	AuditFile  string   // TEST07, TEST09: audit.config with thresholds
	Threshold  *float64 // TEST07: goes before AuditFile, as MinTokens and MaxTokens do; without both the Audit's counts
	MinTokens  *float64 // TEST09
	MaxTokens  *float64 // TEST09
	Evaluator  string   // TEST07: what the accuracy evaluation printed
	ScoreMatch string   // TEST07: expression whose first group is the score; empty: the official one
	Tolerance  *float64 // TEST08: largest relative difference; nil: the official one

	Now time.Time // the time that TEST01's files carry
}

// audit is one verification under way.
type audit struct {
	Input
	asked *Audit // nil: unknown
	out   *Result
	facts map[string]*detail // detail logs that were read, by path
}

// verifier is one test: what it needs, and how it judges.
type verifier struct {
	needs   []string // names of Input's fields that must be given
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
			a.out.add(Warning, "audit_unknown", "", "what LoadGen was told is not checked: %v", err)
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
			return fmt.Errorf("%s compares with other runs or scenarios: name %s", test, names[n])
		}
	}
	return nil
}

func (a *audit) log(name string) string { return filepath.Join(a.Compliance, name) }

// readAccuracy reads an accuracy log as the official scripts do, who take the whole file as JSON: what is not whole is
// an error of content.
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
