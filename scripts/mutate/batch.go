package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// batch is many mutants of one package in the same test programs, so that each costs a run of the tests that reach its
// function, and neither a compilation nor a link.
type batch struct {
	*tester
	schema
	mutants  []mutant
	programs []*program
}

// program is the compiled tests of a package.
type program struct {
	pkg, path string
	tests     []test
}

// test is a top-level test of a program, with the functions that it reaches by their numbers.
type test struct {
	name    string // as a regular expression
	took    time.Duration
	reaches map[int]bool
}

func (b *batch) chosen() string  { return filepath.Join(b.work, "chosen") }
func (b *batch) reached() string { return filepath.Join(b.work, "reached") }
func (b *batch) overlay() string { return filepath.Join(b.work, "batch.json") }

// inCopy is a place in a copy, in the compiler's errors.
var inCopy = regexp.MustCompile(`\bmutant(\d+)\.go:\d+`)

// errSingle means that mutants have to be compiled one by one.
var errSingle = errors.New("they do not compile together")

// newBatch compiles mutants of one package, and runs the tests without one. Mutants that do not compile in a copy are
// left to tester.try.
func newBatch(ctx context.Context, t *tester, mutants []mutant, sources map[string]string,
	progress io.Writer) (*batch, error) {
	b := &batch{tester: t, mutants: mutants}
	b.in = map[int]int{}
	for i, pkg := range t.packages(mutants[0].pkg()) {
		p := &program{pkg: pkg, path: filepath.Join(t.work, fmt.Sprintf("tests%d", i))}
		if err := b.compile(ctx, p, sources); err != nil {
			return nil, err
		}
		skips, err := b.measure(ctx, p)
		if err != nil && ctx.Err() == nil { // the machine may be busy
			skips, err = b.measure(ctx, p)
		}
		if err != nil {
			return nil, err
		}
		b.programs = append(b.programs, p)
		var all time.Duration
		for _, one := range p.tests {
			all += one.took
		}
		t.limits[pkg] = limitFactor*all + limitSlack // for mutants that are left to tester.try
		fmt.Fprintf(progress, "tests of %s: %.1f s without a mutant, one after another\n", pkg, all.Seconds())
		for _, reason := range slices.Sorted(maps.Keys(skips)) {
			fmt.Fprintf(progress, "tests of %s: %d skipped: %s\n", pkg, skips[reason], reason)
		}
	}
	return b, nil
}

// compile builds the tests of a package, and removes the mutants that the compiler refuses until it accepts the rest.
func (b *batch) compile(ctx context.Context, p *program, sources map[string]string) error {
	for {
		if err := b.write(sources); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-w", "-gcflags=-e", "-o="+p.path, p.pkg)
		cmd.Dir, cmd.Env = b.root, b.environ(b.overlay())
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			return nil
		}
		wrong := inCopy.FindAllSubmatch(out, -1)
		if len(wrong) == 0 {
			return fmt.Errorf("%w: %s", errSingle, out)
		}
		for _, w := range wrong {
			number, err := strconv.Atoi(string(w[1]))
			if err != nil {
				return err
			}
			b.in[number] = unplaced
		}
	}
}

// write makes the sources with mutants and the overlay that puts them in place.
func (b *batch) write(sources map[string]string) error {
	b.functions = 0
	replace := map[string]string{}
	put := func(path, text string) error {
		file := filepath.Join(b.work, fmt.Sprintf("batch%d.go", len(replace)))
		replace[filepath.Join(b.root, path)] = file
		return os.WriteFile(file, []byte(text), 0o644)
	}
	for _, m := range b.mutants {
		source := sources[m.path]
		if replace[filepath.Join(b.root, m.path)] != "" || !strings.HasSuffix(m.path, ".go") ||
			strings.Contains(source, "\nimport \"C\"\n") {
			continue
		}
		text, err := b.add(m.path, source, b.mutants)
		if err == nil {
			err = put(m.path, text)
		}
		if err != nil {
			return err
		}
	}
	if b.functions == 0 {
		return fmt.Errorf("%w: functions contain no mutant of them", errSingle)
	}
	folder := filepath.Dir(b.mutants[0].path)
	if err := put(filepath.Join(folder, "mutants.go"), b.chooser(b.chosen(), b.reached())); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	return errors.Join(err, os.WriteFile(b.overlay(), text, 0o644))
}

// skipped matches a test that did not run, and its reason in the line before, in the output of -test.v.
var skipped = regexp.MustCompile(`(?m)(?:^ +\S+\.go:\d+: (.*)\n)?^ *--- SKIP: `)

// measure lists the tests of a program and runs each alone: how long it takes and which functions it reaches. It
// returns how many tests were skipped, by reason.
func (b *batch) measure(ctx context.Context, p *program) (map[string]int, error) {
	skips := map[string]int{}
	p.tests = nil
	names := []string{b.run}
	if b.run == "" {
		cmd := exec.CommandContext(ctx, p.path, "-test.list=^(Test|Example|Fuzz)")
		cmd.Dir = filepath.Join(b.root, p.pkg)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("the tests of %s cannot be listed: %w", p.pkg, err)
		}
		names = strings.Fields(string(out))
	}
	for _, name := range names {
		if b.run == "" {
			name = "^" + name + "$"
		}
		one := test{name: name, reaches: map[int]bool{}}
		if err := b.clearNotes(); err != nil {
			return nil, err
		}
		begun := time.Now()
		o, out, err := b.start(ctx, p, note, name, firstLimit)
		if err != nil {
			return nil, err
		}
		if o != survived {
			return nil, fmt.Errorf(failsAlone, p.pkg, o, out)
		}
		one.took = time.Since(begun)
		for _, skip := range skipped.FindAllStringSubmatch(out, -1) {
			skips[cmp.Or(skip[1], "no reason given")]++
		}
		notes, err := os.ReadFile(b.reached())
		if err != nil {
			return nil, err
		}
		for number, reached := range notes {
			one.reaches[number] = reached != 0
		}
		p.tests = append(p.tests, one)
	}
	slices.SortStableFunc(p.tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	return skips, nil
}

// clearNotes replaces the file of notes by one without any, which processes of every user can write. A process that is
// left of an earlier test keeps the old file.
func (b *batch) clearNotes() error {
	if err := os.RemoveAll(b.reached()); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(b.reached(), make([]byte, b.functions), 0o600), os.Chmod(b.reached(), 0o666))
}

// start runs tests of a program with a choice.
func (b *batch) start(ctx context.Context, p *program, choice int, run string, limit time.Duration) (outcome, string,
	error) {
	if err := os.WriteFile(b.chosen(), []byte(strconv.Itoa(choice)), 0o644); err != nil {
		return 0, "", err
	}
	args := []string{p.path, "-test.failfast", "-test.timeout=" + limit.String(), "-test.run=" + run}
	if b.short {
		args = append(args, "-test.short")
	}
	if choice == note {
		args = append(args, "-test.v") // shows which tests are skipped
	}
	return b.command(ctx, filepath.Join(b.root, p.pkg), b.overlay(), limit, args)
}

// holds reports whether a mutant is in the batch.
func (b *batch) holds(number int) bool {
	if b == nil {
		return false
	}
	in, ok := b.in[number]
	return ok && in != unplaced
}

// group is how long the tests take that run together, the quick ones first: most mutants need no more.
const group = time.Second

// try runs the tests that reach a mutant's function until one fails. A function that none reaches needs no run.
func (b *batch) try(ctx context.Context, number int) (outcome, string, error) {
	for _, p := range b.programs {
		var names []string
		var took time.Duration
		for i, one := range p.tests {
			if one.reaches[b.in[number]] {
				names, took = append(names, one.name), took+one.took
			}
			if len(names) == 0 || took < group && i < len(p.tests)-1 {
				continue
			}
			limit := limitFactor*took + limitSlack/4 // nothing is compiled in it
			run := strings.Join(names, "|")
			o, out, err := b.start(ctx, p, number, run, limit)
			if err == nil && o == timedOut && b.patience > 1 {
				o, out, err = b.start(ctx, p, number, run, time.Duration(b.patience)*limit)
			}
			if err != nil || o != survived {
				return o, by(o, out), err
			}
			names, took = nil, 0
		}
	}
	return survived, "", nil
}
