package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Exit codes.
const (
	exitGoal  = 0
	exitBelow = 1 // too many mutants survived
	exitError = 2 // nothing was measured
)

// logCalls are calls whose text only people read, and crash.Catch, which internal/arch looks for in the source.
const logCalls = `^crash\.Catch\(|` +
	`^(log|slog)\.|^fmt\.Fprint\w*\(os\.Stderr|^[\w.]+\.(tell|Tell|Logf?|Debugf?|Infof?|Warnf?)\(`

type options struct {
	n        int
	seed     uint64
	goal     float64
	tests    string
	run      string
	short    bool
	skip     string
	logs     string
	isolate  bool
	list     bool
	patience int
	memory   int64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := mainCode(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func mainCode(ctx context.Context, args []string, out, progress io.Writer) int {
	var o options
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.IntVar(&o.n, "n", 20, "how many mutants to try, chosen by the seed; 0: all")
	flags.Uint64Var(&o.seed, "seed", 1, "which mutants are chosen, and in which order")
	flags.Float64Var(&o.goal, "goal", 95, "percent of the mutants that must be noticed for exit code 0")
	flags.StringVar(&o.tests, "tests", "", "packages or FOLDER/..., separated by spaces, whose tests run after the "+
		"mutated package's own if they depend on it")
	flags.StringVar(&o.run, "run", "", "run only the tests that match, as go test -run")
	flags.BoolVar(&o.short, "short", false, "leave out the tests that go test -short leaves out")
	flags.StringVar(&o.skip, "skip", "", "leave out the packages of FOLDER/... whose folder matches, a regular expression")
	flags.StringVar(&o.logs, "logs", logCalls, "calls that are left as they are, with their arguments: a regular "+
		"expression on their text")
	flags.BoolVar(&o.isolate, "isolate", namespace() != nil,
		"run tests in a process namespace; the default is whether the machine allows it")
	flags.IntVar(&o.patience, "patience", 4, "how many times its time limit a mutant that exceeded it gets in a second "+
		"try, as the machine may be busy; 1: none, and it is taken for noticed")
	flags.Int64Var(&o.memory, "memory", 4096, "MiB that the tests of a mutant and their processes may use together; a "+
		"mutant that needs more is noticed. 0: no limit")
	flags.BoolVar(&o.list, "list", false, "list the mutants and try none")
	flags.Usage = func() {
		fmt.Fprintln(progress, "usage: mutate [flags] PACKAGE-FOLDER | FOLDER/... | FILE.go | FILE.go:LINE[:COLUMN] ...")
		flags.PrintDefaults()
	}
	if flags.Parse(args) != nil {
		return exitError
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return exitError
	}
	all, err := mutate(ctx, o, flags.Args(), out, progress)
	switch {
	case err != nil:
		fmt.Fprintf(progress, "mutate: %v\n", err)
		return exitError
	case all.percent() < o.goal:
		return exitBelow
	}
	return exitGoal
}

// mutate tries a sample of the mutants in places, which are below the module of the working folder, and reports the
// outcomes.
func mutate(ctx context.Context, o options, places []string, out, progress io.Writer) (tally, error) {
	logs, err := regexp.Compile(o.logs)
	if err != nil {
		return tally{}, fmt.Errorf("-logs: %w", err)
	}
	root, goflags, err := module()
	if err != nil {
		return tally{}, err
	}
	folders, err := expand(root, places, o.skip)
	if err != nil {
		return tally{}, err
	}
	sources := map[string]string{}
	var mutants []mutant
	for _, place := range folders {
		found, err := mutantsOf(root, place, logs, sources)
		if err != nil {
			return tally{}, err
		}
		mutants = append(mutants, found...)
	}
	if len(mutants) == 0 {
		return tally{}, fmt.Errorf("no code to mutate in %s", strings.Join(places, " "))
	}
	if o.list {
		for _, m := range mutants {
			fmt.Fprintf(out, "%s\n%s", m.String(), diff(sources[m.path], &m))
		}
		return tally{}, nil
	}
	shuffle(mutants, o.seed)
	if o.n <= 0 || o.n > len(mutants) {
		o.n = len(mutants)
	}
	more, err := dependents(root, strings.Fields(o.tests))
	if err != nil {
		return tally{}, err
	}
	work, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return tally{}, err
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil { // tests may run processes of other users
		return tally{}, err
	}
	t := &tester{root: root, work: work, goflags: goflags, run: o.run, short: o.short, more: more,
		isolated: o.isolate, memory: o.memory << 20, patience: o.patience, limits: map[string]time.Duration{}}
	if !o.isolate {
		fmt.Fprintln(progress, "mutate: without a process namespace; a mutant that signals a wrong number may hit a "+
			"process of yours")
	}
	results, err := sample(ctx, t, mutants, o.n, sources, progress)
	if err != nil && (len(results) == 0 || ctx.Err() == nil) {
		return tally{}, err
	}
	fmt.Fprintf(out, "mutants of %s: %d places, %d tried, seed %d\n", strings.Join(places, " "), len(mutants),
		len(results), o.seed)
	return report(out, results), nil
}

// shuffle orders mutants by a seed. The first n are the seed's sample of n.
func shuffle(mutants []mutant, seed uint64) {
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(mutants),
		func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
}

// sampler tries mutants and keeps what it found.
type sampler struct {
	*tester
	n        int
	sources  map[string]string
	progress io.Writer
	results  []result
	failing  map[string]bool // packages whose tests fail without a mutant
}

// sample tries mutants in their order until n of them compile, those of a package together. It leaves out packages
// whose tests fail without a mutant. After an interruption it returns what there is, with the error.
func sample(ctx context.Context, t *tester, mutants []mutant, n int, sources map[string]string,
	progress io.Writer) ([]result, error) {
	s := &sampler{t, n, sources, progress, nil, map[string]bool{}}
	for len(mutants) > 0 && len(s.results) < n {
		next := min(n-len(s.results), len(mutants))
		byPackage := map[string][]mutant{}
		var order []string
		for _, m := range mutants[:next] {
			if byPackage[m.pkg()] == nil {
				order = append(order, m.pkg())
			}
			byPackage[m.pkg()] = append(byPackage[m.pkg()], m)
		}
		mutants = mutants[next:]
		for _, pkg := range order {
			if err := s.inPackage(ctx, byPackage[pkg]); ctx.Err() != nil {
				return s.results, context.Cause(ctx)
			} else if err != nil {
				s.failing[pkg] = true
				fmt.Fprintf(progress, "mutate: %v\n", err)
			}
		}
	}
	if len(s.results) == 0 && len(s.failing) > 0 {
		return nil, errors.New("no tests to measure")
	}
	return s.results, nil
}

// inPackage tries mutants of one package: together where that works, and the others one by one.
func (s *sampler) inPackage(ctx context.Context, mutants []mutant) error {
	if s.failing[mutants[0].pkg()] {
		return nil
	}
	b, err := newBatch(ctx, s.tester, mutants, s.sources, s.progress)
	if err != nil && !errors.Is(err, errSingle) {
		return err
	}
	for number := range mutants {
		m := &mutants[number]
		begun := time.Now()
		var o outcome
		var by string
		if b.holds(number) {
			o, by, err = b.try(ctx, number)
		} else if err = s.measure(ctx, m.pkg(), s.progress); err == nil {
			o, by, err = s.try(ctx, m, s.sources[m.path])
		}
		if err != nil {
			return err
		}
		if o != unviable {
			s.results = append(s.results, result{*m, o, s.sources[m.path]})
			fmt.Fprintf(s.progress, "[%d/%d] %s: %v%s, %.1f s\n", len(s.results), s.n, m.String(), o, by,
				time.Since(begun).Seconds())
		}
	}
	return nil
}

// module returns the folder of the module that the working folder belongs to, and the GOFLAGS in force.
func module() (root, goflags string, err error) {
	out, err := exec.Command("go", "env", "GOMOD", "GOFLAGS").Output()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) < 2 || filepath.Base(lines[0]) != "go.mod" {
		return "", "", errors.Join(errors.New("the working folder belongs to no module; go to the repository"), err)
	}
	return filepath.Dir(lines[0]), lines[1], nil
}

// expand replaces places that end in /... by the folders of the packages below them that have tests of their own.
func expand(root string, places []string, skip string) ([]string, error) {
	leave, err := regexp.Compile(skip)
	if err != nil {
		return nil, fmt.Errorf("-skip: %w", err)
	}
	var list []string
	for _, place := range places {
		if !strings.HasSuffix(place, "...") {
			list = append(list, place)
			continue
		}
		cmd := exec.Command("go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}",
			"./"+strings.TrimPrefix(place, "./"))
		cmd.Dir, cmd.Stderr = root, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("no packages below %s: %w", place, err)
		}
		for _, dir := range strings.Fields(string(out)) {
			dir = strings.TrimPrefix(dir, root+string(filepath.Separator))
			if skip == "" || !leave.MatchString(dir) {
				list = append(list, dir)
			}
		}
	}
	return list, nil
}

// dependents maps each package of this module to the packages among places whose tests depend on it, in the order of
// places. All are named as the go command accepts them.
func dependents(root string, places []string) (map[string][]string, error) {
	on := map[string][]string{}
	if len(places) == 0 {
		return on, nil
	}
	cmd := exec.Command("go", append([]string{"list", "-test", "-f",
		`{{with .Module}}{{.Path}}{{end}} {{.ImportPath}}{{range .Deps}} {{.}}{{end}}`}, places...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("-tests: no packages %s: %w", strings.Join(places, " "), err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.HasSuffix(words[1], ".test") {
			continue
		}
		name := words[0]
		tested := "." + strings.TrimPrefix(strings.TrimSuffix(words[1], ".test"), name)
		for _, dep := range words[2:] {
			if local, ok := strings.CutPrefix(dep, name); ok {
				on["."+local] = append(on["."+local], tested)
			}
		}
	}
	return on, nil
}

// atLine is a place with a line number, and perhaps a column, as the report names a mutant.
var atLine = regexp.MustCompile(`^(.+\.(?:go|cc)):(\d+)(?::(\d+))?$`)

// isFile reports whether a place is a source file.
func isFile(place string) bool {
	return strings.HasSuffix(place, ".go") || strings.HasSuffix(place, ".cc")
}

// mutantsOf finds the mutants of a package's folder, a file, or a line or column of one, and keeps the sources. Tests
// are left out, as are files that this machine does not build.
func mutantsOf(root, place string, logs *regexp.Regexp, sources map[string]string) ([]mutant, error) {
	folder, file, line, col := place, "", 0, 0
	if m := atLine.FindStringSubmatch(place); m != nil {
		place = m[1]
		line, _ = strconv.Atoi(m[2]) // too large a number matches no line
		col, _ = strconv.Atoi(m[3])
	}
	if isFile(place) {
		folder, file = filepath.Dir(place), filepath.Base(place)
	}
	cmd := exec.Command("go", "list", "-json=Dir,GoFiles,CgoFiles,CXXFiles", "./"+filepath.ToSlash(filepath.Clean(folder)))
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s is not a package of this module, named from its root: %w", folder, err)
	}
	var p struct {
		Dir                         string
		GoFiles, CgoFiles, CXXFiles []string
	}
	if err := json.Unmarshal(out, &p); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var list []mutant
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.CXXFiles) {
		if file != "" && name != file {
			continue
		}
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		path, err := filepath.Rel(root, filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		sources[path] = string(text)
		found, err := find(path, string(text), logs)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if (line == 0 || m.line == line) && (col == 0 || m.col == col) {
				list = append(list, m)
			}
		}
	}
	return list, nil
}
