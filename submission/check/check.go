package check

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/rounds"
)

// Mode selects the rules.
type Mode string

// The modes of a check.
const (
	Compat Mode = "compat" // rules of the current official checker
	Strict Mode = "strict" // also rules of the older checker and of the rules text, and this program's own
)

// Options select the rules. The zero value checks the whole tree strictly for the current round.
type Options struct {
	Round     string // such as v6.1; "": rounds.Current
	Mode      Mode   // "": Strict
	Submitter string // check only this submitter's folders; "": all
	Location  string // prefix of the paths in the summary CSV; "": the root as passed to Check
	Workers   int    // benchmarks to read concurrently; 0: 2
	OnlyKnown bool   // skip benchmarks that generate no text, and do not count them

	// The official checker's switches of the same names.
	SubmissionExceptions bool // performance logs may have only the LoadGen error about uncommitted changes
	SkipEmptyFields      bool // --skip-meaningful-fields-emptiness-check
	SkipEmptyFiles       bool // --skip-empty-files-check
	SkipDatasetSize      bool // --skip-dataset-size-check
}

// checker holds the data that is common to all scopes.
type checker struct {
	files  files
	o      Options
	round  *rounds.Round
	tables map[string]*benchmark
	places int          // number of scopes found so far
	ended  func() error // returns an error once the caller cancels the check
}

// Check applies the rules to the tree in root. Faults of the tree are in the report. Check returns an error if the root
// cannot be read, an option is invalid, or ctx is cancelled.
func Check(ctx context.Context, root string, o Options) (*Report, error) {
	c, err := newChecker(root, o)
	if err != nil {
		return nil, err
	}
	defer c.files.close()
	c.ended = ctx.Err
	top := c.walk()
	if names := submitters(top); c.o.Mode == Strict && c.o.Submitter != "" && !slices.Contains(names, c.o.Submitter) {
		there := "none"
		if len(names) > 0 {
			there = strings.Trim(fmt.Sprintf("%q", names), "[]")
		}
		return nil, fmt.Errorf("no folder of the submitter %q in %s; there is %s", c.o.Submitter, root, there)
	}
	if err := c.run(ctx, top); err != nil {
		return nil, fmt.Errorf("check the submission %s: %w", root, err)
	}
	return c.report(top), nil
}

func newChecker(root string, o Options) (*checker, error) {
	if o.Round == "" {
		o.Round = rounds.Current
	}
	if o.Mode == "" {
		o.Mode = Strict
	}
	if o.Workers <= 0 {
		o.Workers = 2
	}
	if o.Location == "" {
		o.Location = root
	}
	round, err := rounds.Find(o.Round)
	if err != nil {
		return nil, fmt.Errorf("check the submission %s: %w", root, err)
	}
	if !slices.Contains([]Mode{Compat, Strict}, o.Mode) {
		return nil, fmt.Errorf("check the submission %s: unknown mode %q: use %s or %s", root, o.Mode, Strict, Compat)
	}
	info, err := os.Stat(root)
	switch {
	case err != nil:
		return nil, fmt.Errorf("check a submission: %w; pass the folder that contains closed, open or network", err)
	case !info.IsDir():
		return nil, fmt.Errorf("check a submission: %s is not a folder; "+
			"pass the folder that contains closed, open or network", root)
	}
	o.Round = round.Name
	opened, err := openFiles(root)
	if err != nil {
		return nil, fmt.Errorf("check a submission: cannot read the folder: %w; change its permissions, or run the check as "+
			"its owner", err)
	}
	return &checker{files: opened, o: o, round: round, tables: tablesOf(round), ended: func() error { return nil }}, nil
}

// run applies the rules to every scope. A benchmark and its scenario folders are processed together, so that their
// files are released together.
func (c *checker) run(ctx context.Context, top *scope) error {
	var work []*scope
	top.each(func(s *scope) {
		if s.level <= benchmarkLevel && !s.skipped {
			work = append(work, s)
		}
	})
	var (
		next    atomic.Int64
		workers sync.WaitGroup
	)
	for range min(c.o.Workers, len(work)) {
		workers.Go(func() {
			defer crash.Catch()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(work) {
					return
				}
				c.piece(ctx, work[i])
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

func (c *checker) piece(ctx context.Context, s *scope) {
	s.apply(rules)
	if s.level != benchmarkLevel {
		return
	}
	for _, folder := range s.down {
		if ctx.Err() != nil {
			return
		}
		folder.result = c.load(ctx, folder)
		folder.apply(rules)
		folder.row = reported{folder}.summary()
		folder.result = nil
	}
}
