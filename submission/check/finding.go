package check

// Severity says what a finding does to the verdict.
type Severity string

// The severities. Only an Error makes a result, or what is below its place, invalid.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Class sorts findings by what they are about.
type Class string

// The classes. A rehearsal's tree may have findings of its own class, and nothing else.
const (
	Rehearsal Class = "rehearsal" // durations, counts and totals that only a full run has
	Tree      Class = "tree"      // folders, names and sizes of files
	Document  Class = "document"  // descriptions that people write
	Log       Class = "log"       // LoadGen's files can not be read as they must
	Run       Class = "run"       // how the run was made, what it reached
	Score     Class = "score"     // accuracy
	Audit     Class = "audit"     // compliance tests
)

// Finding is one breach of one rule.
type Finding struct {
	Rule     string   `json:"rule"`
	Class    Class    `json:"class"`
	Severity Severity `json:"severity"`
	Place    string   `json:"place"` // folder whose results it concerns, below the root; "." is the tree
	File     string   `json:"file"`  // below the root
	Key      string   `json:"key,omitempty"`
	Found    string   `json:"found"`
	Expected string   `json:"expected,omitempty"`
	Advice   string   `json:"advice"`
}
