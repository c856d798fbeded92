package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// campaign is a series of tests.
type campaign struct {
	program, folder string
	form            *jsonschema.Schema
	keep            bool

	mu                     sync.Mutex
	done, violations, slow int
	verdicts               map[string]int
}

func main() {
	runs := flag.Int("runs", 40, "number of tests")
	share := flag.Int("share", 1, "run only one of so many tests")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed from which the seeds of the tests are drawn")
	only := flag.Uint64("only", 0, "run only the test of this seed, and keep its folder")
	jobs := flag.Int("j", runtime.NumCPU(), "number of parallel tests")
	program := flag.String("program", "bin/mlperf-go", "the program")
	form := flag.String("schema", "schema/bench.schema.json", "schema of bench.json")
	folder := flag.String("folder", ".cache/chaos/workloads", "parent of the tests' folders")
	flag.Parse()
	c := &campaign{keep: *only != 0, verdicts: map[string]int{}}
	seeds := []uint64{*only}
	if *only == 0 {
		seeds = nil
		for i := range uint64(max(1, *runs / *share)) {
			seeds = append(seeds, mix(*seed, 2, i)>>16) // short enough to be typed
		}
		fmt.Printf("workloads: %d tests, -seed %d\n", len(seeds), *seed)
	}
	if err := c.open(*program, *folder, *form); err != nil {
		fmt.Fprintln(os.Stderr, "workloads:", err)
		os.Exit(2)
	}
	begun := time.Now()
	c.all(seeds, *jobs)
	fmt.Printf("workloads: %d tests, %d violations, %d slow, %v, %.0f s\n", c.done, c.violations, c.slow, c.verdicts,
		time.Since(begun).Seconds())
	if c.violations > 0 {
		os.Exit(1)
	}
}

func (c *campaign) open(program, folder, form string) (err error) {
	if c.program, err = filepath.Abs(program); err != nil {
		return err
	}
	if c.folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	c.form, err = compiler.Compile(form)
	return err
}

// all runs the tests, several at a time.
func (c *campaign) all(seeds []uint64, jobs int) {
	next := make(chan uint64)
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for seed := range next {
				c.one(seed)
			}
		})
	}
	for _, seed := range seeds {
		next <- seed
	}
	close(next)
	workers.Wait()
}

// one runs the test of a seed and reports a violation.
func (c *campaign) one(seed uint64) {
	t := &trial{scenario: draw(seed), folder: filepath.Join(c.folder, fmt.Sprint(seed))}
	j := &judge{trial: t}
	if err := t.run(c.program); err != nil {
		j.violate("the test could not be made: %v", err)
	} else {
		j.judge(c.form, c.program)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	c.verdicts[j.record.Verdict]++
	if len(j.slow) > 0 {
		c.slow++
	}
	if len(j.violations) == 0 && !c.keep {
		_ = os.RemoveAll(t.folder) // the next test of this seed tries it again
		return
	}
	c.violations += min(1, len(j.violations))
	fmt.Printf("\nseed %d: %+v\n  verdict %s, exit %d, %v\n", seed, t.scenario, j.record.Verdict, t.exit,
		t.took.Round(time.Millisecond))
	for _, v := range j.violations {
		fmt.Printf("  VIOLATION: %s\n", v)
	}
	for _, s := range j.slow {
		fmt.Printf("  slow: %s\n", s)
	}
	fmt.Printf("  servers: %v\n", t.log.counts())
	fmt.Printf("  folder %s; again with: go run ./scripts/chaos/workloads -only %d\n", t.folder, seed)
	_ = os.WriteFile(filepath.Join(t.folder, "output.txt"), t.output.Bytes(), 0o600) // evidence only
}

// mix hashes several numbers to one.
func mix(numbers ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, n := range numbers {
		h = (h ^ n) * 0xbf58476d1ce4e5b9
		h ^= h >> 29
		h = h*0x94d049bb133111eb + 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return h
}
