package check

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/rounds"
)

// Mode says whose rules are asked.
type Mode string

// The modes of a check.
const (
	Compat Mode = "compat" // the current official checker's
	Strict Mode = "strict" // also the older checker's, the rules text's, and our own
)

// Options choose the rules. The zero value checks everything strictly for the current round.
type Options struct {
	Round     string // such as v6.1; empty: rounds.Current
	Mode      Mode   // empty: Strict
	Submitter string // only this one's folders; empty: everyone's
	Location  string // what stands before the paths in the summary CSV; empty: the root as it was given
	Workers   int    // benchmarks that are read at a time; 0: 2
	OnlyKnown bool   // benchmarks that generate no text are left out, and not counted either

	// The official checker's switches of the same names.
	SubmissionExceptions bool // performance logs must have no LoadGen error but the one about uncommitted changes
	SkipEmptyFields      bool // --skip-meaningful-fields-emptiness-check
	SkipEmptyFiles       bool // --skip-empty-files-check
	SkipDatasetSize      bool // --skip-dataset-size-check
}

// checker is what every rule may ask beside the place it looks at.
type checker struct {
	files  files
	o      Options
	round  *rounds.Round
	tables map[string]*benchmark
	places int          // of the tree, counted while it is walked
	ended  func() error // the caller's end of the check
}

// Check walks the rules over the tree below root. What is wrong with the tree is in the report; an error is a root that
// can not be read, an option that makes no sense, or the end of ctx.
func Check(ctx context.Context, root string, o Options) (*Report, error) {
	c, err := newChecker(root, o)
	if err != nil {
		return nil, err
	}
	defer c.files.close()
	c.ended = ctx.Err
	top := c.walk()
	if err := c.run(ctx, top); err != nil {
		return nil, fmt.Errorf("checking the submission below %s: %w", root, err)
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
		return nil, fmt.Errorf("checking the submission below %s: %w", root, err)
	}
	if !slices.Contains([]Mode{Compat, Strict}, o.Mode) {
		return nil, fmt.Errorf("checking the submission below %s: mode %q is unknown: take %s or %s", root, o.Mode, Strict,
			Compat)
	}
	info, err := os.Stat(root)
	switch {
	case err != nil:
		return nil, fmt.Errorf("checking a submission: %w; give the folder that holds closed, open or network", err)
	case !info.IsDir():
		return nil, fmt.Errorf("checking a submission: %s is no folder; give the one that holds closed, open or network",
			root)
	}
	o.Round = round.Name
	opened, err := openFiles(root)
	if err != nil {
		return nil, fmt.Errorf("checking a submission: the folder can not be read: %w; change its rights, or do it as its "+
			"owner", err)
	}
	return &checker{files: opened, o: o, round: round, tables: tablesOf(round), ended: func() error { return nil }}, nil
}

// run gives every place to the table of rules. A benchmark and its scenario folders are one piece of work, so that what
// was read of them is dropped together.
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
		folder.row = folder.summary()
		folder.result = nil
	}
}
