package campaign

import (
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Code is a word that names for scripts why a step has its status: the first code of a verdict, the code of an error,
// or one of the codes below.
type Code string

// The codes of this package, in the order of the alphabet.
const (
	CodeBlocked          Code = "blocked" // the step waits for another one
	CodeComplianceFailed Code = "compliance_failed"
	CodeCrashed          Code = "crashed"     // the step's process ended before it wrote a result
	CodeExit             Code = "exit"        // the step's process ended with an exit code and without an error
	CodeInvalid          Code = "invalid"     // of a verdict without reasons
	CodeLogDamaged       Code = "log_damaged" // LoadGen's logs changed after the run
	CodeNotConfirmed     Code = "not_confirmed"
	CodeNotJudged        Code = "not_judged"
	CodeNotVerified      Code = "not_verified" // the verification of an audit cannot be read
	CodeOtherTest        Code = "other_test"   // the folder holds another benchmark, scenario or mode
	CodeRehearsal        Code = "rehearsal"
	CodeSettingsChanged  Code = "settings_changed" // the run in the folder had other settings
	CodeSettingsLost     Code = "settings_lost"    // the settings of the run in the folder cannot be read
)

// The codes of verdicts and errors that steps have for reasons of their own.
const (
	codeBelowTarget = Code(record.CodeAccuracyBelowTarget)
	codeEndpoint    = Code(exit.CodeEndpoint)
	codeInterrupted = Code(exit.CodeInterrupted)
	codeNotScored   = Code(record.CodeNotScored)
	// codeUnreached is the code of a step that the campaign did not reach, and whose folder has an earlier result.
	codeUnreached = codeInterrupted
)
