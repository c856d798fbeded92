package check

// Severity is the effect of a finding on the verdict.
type Severity string

// The severities. An Error invalidates the results in its folder; a Warning does not.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Class is the subject of a finding.
type Class string

// The classes. The tree of a rehearsal may have errors only of class Rehearsal.
const (
	Rehearsal Class = "rehearsal" // durations, counts and totals that only a full run has
	Tree      Class = "tree"      // folders, names and sizes of files
	Document  Class = "document"  // descriptions that people write
	Log       Class = "log"       // missing or unreadable files of LoadGen
	Run       Class = "run"       // settings and performance of the run
	Score     Class = "score"     // accuracy
	Audit     Class = "audit"     // compliance tests
)

// Finding is one breach of one rule.
type Finding struct {
	Rule     string   `json:"rule"`
	Class    Class    `json:"class"`
	Severity Severity `json:"severity"`
	Place    string   `json:"place"` // folder whose results it concerns, relative to the root; "." is the tree
	File     string   `json:"file"`  // relative to the root
	Key      string   `json:"key,omitempty"`
	Found    string   `json:"found"`
	Expected string   `json:"expected,omitempty"`
	Advice   string   `json:"advice"`
}
