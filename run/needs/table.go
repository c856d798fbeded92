package needs

import (
	"context"

	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// State is the state of a requirement.
type State string

// The states.
const (
	OK        State = "ok"
	Missing   State = "missing" // the tests would fail; Check.Err has the reason
	Warning   State = "warning" // the tests run, but their result does not count, or a later test will lack it
	Unknown   State = "unknown" // it cannot be found out yet
	NotNeeded State = "-"
)

// Check is one requirement.
type Check struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Found string `json:"found"` // what was found, or what is missing
	// List has the parts of what was found, if Found announces a list.
	List []string `json:"list,omitempty"`
	Do   string   `json:"do,omitempty"` // what to do about it
	Err  error    `json:"-"`            // of a missing requirement
}

// Table is the list of requirements.
type Table []Check

// Err returns the error of the first missing requirement; nil if every requirement is met.
func (t Table) Err() error {
	for _, c := range t {
		if c.State == Missing {
			return c.Err
		}
	}
	return nil
}

// Survey contains what is known about the tests and their servers.
type Survey struct {
	// Tests are the tests that will run, bound to their data sets. There is at least one.
	Tests []*plan.Plan
	// Scored: the answers of the accuracy tests will be scored.
	Scored  bool
	Environ []string
	// Folder is where the tests write.
	Folder string
	// Servers is what the servers answered; nil: they were not asked, or Refusal is why they cannot be used.
	Servers *run.Preflight
	Refusal error
	// Takes is how long the tests will take, in words.
	Takes string
}

// rows are the requirements in the order of the table.
var rows = []struct {
	name  string
	check func(*Survey, context.Context) Check
}{
	{rowServer, (*Survey).server},
	{rowModel, (*Survey).model},
	{rowContext, (*Survey).context},
	{rowTokenIDs, (*Survey).tokenIDs},
	{"data set", (*Survey).dataset},
	{"prompts", (*Survey).prompts},
	{"tokenizer", (*Survey).tokenizer},
	{"code", (*Survey).code},
	{rowDisk, (*Survey).disk},
	{rowFiles, (*Survey).files},
	{"memory", (*Survey).memory},
	{"load", (*Survey).offered},
	{"duration", (*Survey).duration},
	{"rehearsal", (*Survey).rehearsal},
}

// Table checks every requirement. It may start programs in the sandbox, and ask the first endpoint for its tokenizer.
func (s *Survey) Table(ctx context.Context) Table {
	var t Table
	refused := rowOf(s.Refusal)
	for _, r := range rows {
		c := Check{}
		if r.name == refused {
			c = missing(s.Refusal)
		} else {
			c = r.check(s, ctx)
		}
		c.Name = r.name
		t = append(t, c)
	}
	return t
}

// Early checks what can be checked before anything is started and before the tests are bound: the limits of this
// process, and what runs the programs among the answers. It returns the first error.
func (s *Survey) Early(ctx context.Context) error {
	checks := []Check{s.memory(ctx)}
	if judges(s.Tests[0]) {
		checks = append(checks, s.code(ctx))
	}
	for _, check := range checks {
		if check.State == Missing {
			return check.Err
		}
	}
	return nil
}

// missing returns the check of a requirement that is not met.
func missing(err error) Check {
	known := exit.Classify(err)
	return Check{State: Missing, Found: known.Err.Error(), Do: known.Hint, Err: err}
}

func found(text string) Check     { return Check{State: OK, Found: text} }
func notNeeded(text string) Check { return Check{State: NotNeeded, Found: text} }
func unknown(text string) Check   { return Check{State: Unknown, Found: text} }
