package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/mlperf-go/mlperf-go/scripts/chaos/authority"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func main() {
	runs := flag.Int("runs", 1000, "number of tests")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed from which the seeds of the tests are drawn")
	only := flag.Uint64("only", 0, "run only the test of this seed, and keep its folder")
	match := flag.String("match", "", "draw only tests whose description matches, a regular expression")
	jobs := flag.Int("j", runtime.NumCPU(), "number of parallel tests")
	program := flag.String("program", "bin/mlperf-go", "the program")
	form := flag.String("schema", "schema/run.schema.json", "schema of run.json")
	folder := flag.String("folder", ".cache/chaos", "parent of the tests' folders; those of passed tests are removed")
	patience := flag.Duration("patience", 2*time.Minute, "time after which a test counts as hanging")
	flag.Parse()
	matches, err := regexp.Compile(*match)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos: -match:", err)
		os.Exit(2)
	}
	c := &campaign{keep: *only != 0, table: map[string]map[string]int{}}
	code, err := c.main(*runs, *seed, *only, matches, *jobs, *form,
		&options{program: *program, folder: *folder, patience: *patience})
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	os.Exit(code)
}

// campaign is a series of trials and their outcomes.
type campaign struct {
	options *options
	form    *jsonschema.Schema
	keep    bool

	mu         sync.Mutex
	done       int
	violations int
	slow       int
	table      map[string]map[string]int // runs by class and verdict
}

func (c *campaign) main(runs int, seed, only uint64, match *regexp.Regexp, jobs int, form string,
	o *options) (code int, err error) {
	if c.form, err = schemaOf(form); err != nil {
		return 2, err
	}
	for _, path := range []*string{&o.program, &o.folder} {
		if *path, err = filepath.Abs(*path); err != nil {
			return 2, err
		}
	}
	if err := os.MkdirAll(o.folder, 0o755); err != nil {
		return 2, err
	}
	o.ca = filepath.Join(o.folder, fmt.Sprintf("ca-%d.pem", os.Getpid())) // another chaos may use the same folder
	defer os.Remove(o.ca)
	if o.tls, err = authority.New(o.ca); err != nil {
		return 2, err
	}
	c.options = o
	seeds := []uint64{only}
	if only == 0 {
		seeds = seedsOf(seed, runs, match)
		fmt.Printf("chaos: %d tests, -seed %d\n", runs, seed)
	}
	begun := time.Now()
	if err := c.all(seeds, jobs); err != nil {
		return 2, err
	}
	c.summary(os.Stdout)
	fmt.Printf("chaos: %d tests, %d violations, %d slow, %.0f s\n", c.done, c.violations, c.slow,
		time.Since(begun).Seconds())
	if c.violations > 0 {
		return 1, nil
	}
	return 0, nil
}

// all runs the tests, several at a time.
func (c *campaign) all(seeds []uint64, jobs int) error {
	next := make(chan uint64)
	failed := make(chan error, jobs)
	var workers sync.WaitGroup
	for range jobs {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for seed := range next {
				if err := c.one(seed); err != nil {
					failed <- fmt.Errorf("the test of seed %d: %w", seed, err)
					return
				}
			}
		}()
	}
	for _, seed := range seeds {
		select {
		case next <- seed:
		case err := <-failed:
			return err
		}
	}
	close(next)
	workers.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// one runs the test of a seed and reports a violation.
func (c *campaign) one(seed uint64) error {
	sc := draw(seed)
	t, err := try(sc, c.options)
	if err != nil {
		return err
	}
	var j judgement
	if r, err := readResult(t.results(), c.form); err != nil {
		j = judgement{verdict: "unreadable", violations: []string{err.Error()}}
	} else {
		j = judgeTrial(t, r)
	}
	c.count(t, &j)
	if len(j.violations) == 0 && !c.keep {
		return os.RemoveAll(t.folder)
	}
	return t.keep(j.violations)
}

func (c *campaign) count(t *trial, j *judgement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	class := t.class()
	if c.table[class] == nil {
		c.table[class] = map[string]int{}
	}
	verdict := j.verdict
	if len(j.slow) > 0 {
		verdict = "slow"
		c.slow++
	}
	c.table[class][verdict]++
	if len(j.violations) == 0 && !c.keep {
		if len(j.slow) > 0 {
			fmt.Printf("slow: seed %d, %s: %s\n", t.sc.Seed, j.verdict, j.slow[0])
		}
		return
	}
	c.violations += min(1, len(j.violations))
	fmt.Printf("\nseed %d: %s\n", t.sc.Seed, t.sc)
	fmt.Printf("  verdict %s, exit %d, %.1f s\n", j.verdict, t.exit, t.took.Seconds())
	for i, v := range j.violations {
		if i == 5 {
			fmt.Printf("  ... and %d more\n", len(j.violations)-i)
			break
		}
		fmt.Printf("  VIOLATION: %s\n", v)
	}
	for _, s := range j.slow[:min(3, len(j.slow))] {
		fmt.Printf("  slow: %s\n", s)
	}
	fmt.Printf("  folder %s; again with: go run ./scripts/chaos -only %d\n", t.folder, t.sc.Seed)
}

// class returns the row of the table for a test: the kind of its fault.
func (t *trial) class() string {
	t.truth.mu.Lock()
	defer t.truth.mu.Unlock()
	struck := map[string]bool{}
	for _, e := range t.truth.entries {
		if e.Fault != "" {
			struck[e.Fault] = true
		}
	}
	names := slices.Sorted(maps.Keys(struck))
	if t.sc.Action != "" && t.truth.action == nil {
		names = []string{t.sc.Action}
	}
	switch len(names) {
	case 0:
		return "no fault"
	case 1:
		return names[0]
	}
	return "several faults"
}

// verdicts are the columns of the table.
var verdicts = []string{"VALID", "INVALID", "INTERRUPTED", "none", "slow", "unreadable"}

// summary prints runs by class and verdict.
func (c *campaign) summary(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\nfault\t%s\t\n", strings.Join(verdicts, "\t"))
	names := slices.SortedFunc(maps.Keys(c.table), func(a, b string) int { return cmp.Compare(a, b) })
	for _, name := range names {
		fmt.Fprintf(w, "%s\t", name)
		for _, v := range verdicts {
			if n := c.table[name][v]; n > 0 {
				fmt.Fprintf(w, "%d", n)
			}
			fmt.Fprint(w, "\t")
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // to the terminal
}
