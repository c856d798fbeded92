package layout

import (
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/models"
)

// The entries of a campaign's folder beside its systems' folders.
const (
	StateName     = "campaign.json" // which step is done, and what it was done with
	TreeName      = "submission"    // the tree that is built of it (docs/reference/runs.md#files)
	OriginalsName = "originals"     // accuracy logs as they were before they were cut
)

// The tests of a scenario that are no audits; an audit's test has the audit's name, such as TEST06.
const (
	Performance = "performance"
	Accuracy    = "accuracy"
)

// VerifyFolder is the folder of an audit's run in which the audit's own folder lies:
// compliance/TEST06/verify_accuracy.txt.
const VerifyFolder = "compliance"

// Leaf is one test of a campaign: a run's folder (docs/reference/runs.md#files).
type Leaf struct {
	System    string
	Benchmark string // checker name, such as models.Row.Name
	Scenario  models.Scenario
	Test      string // Performance, Accuracy, or an audit's name
}

// Folder is the leaf's own below the campaign's: <campaign>/<system>/<benchmark>/<Scenario>/<test>.
func (l Leaf) Folder(campaign string) string {
	return filepath.Join(campaign, l.System, l.Benchmark, string(l.Scenario), l.Test)
}

// Verified is the folder with an audit's verify files, once it was verified.
func (l Leaf) Verified(campaign string) string {
	return filepath.Join(l.Folder(campaign), VerifyFolder, l.Test)
}

// Audit says whether the leaf is an audit's test.
func (l Leaf) Audit() bool { return l.Test != Performance && l.Test != Accuracy }

// ScoreFile is the scored accuracy in the accuracy test's folder and in a tree.
const ScoreFile = "accuracy.txt"
