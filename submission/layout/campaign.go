package layout

import (
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/models"
)

// Entries of a campaign's folder, in addition to the systems' folders.
const (
	StateName     = "campaign.json" // completed steps and their settings
	TreeName      = "submission"    // the submission tree (docs/reference/runs.md#files)
	OriginalsName = "originals"     // accuracy logs before truncation
)

// The tests of a scenario other than audits. The test of an audit is named after it, such as TEST06.
const (
	Performance = "performance"
	Accuracy    = "accuracy"
)

// ProbeFiles returns the files that mark the folders of tunes (docs/explanation/tuning.md), searches by LoadGen, sweeps
// and experiments, and of their probes. Such a folder is not the result of a test.
func ProbeFiles() []string {
	return []string{"probe.json", "tune.json", "sweep.json", "experiment.json", "find-peak.json"}
}

// VerifyFolder is the folder in an audit's run that contains the verification: compliance/TEST06/verify_accuracy.txt.
const VerifyFolder = "compliance"

// Leaf is one test of a campaign: a run's folder (docs/reference/runs.md#files).
type Leaf struct {
	System    string
	Benchmark string // checker name, such as models.Row.Name
	Scenario  models.Scenario
	Test      string // Performance, Accuracy, or an audit's name
}

// Folder returns the leaf's folder: <campaign>/<system>/<benchmark>/<Scenario>/<test>.
func (l Leaf) Folder(campaign string) string {
	return filepath.Join(campaign, l.System, l.Benchmark, string(l.Scenario), l.Test)
}

// Verified returns the folder with the files of an audit's verification.
func (l Leaf) Verified(campaign string) string {
	return filepath.Join(l.Folder(campaign), VerifyFolder, l.Test)
}

// Audit reports whether the leaf is the test of an audit.
func (l Leaf) Audit() bool { return l.Test != Performance && l.Test != Accuracy }

// ScoreFile is the scored accuracy in the accuracy test's folder and in a tree.
const ScoreFile = "accuracy.txt"
