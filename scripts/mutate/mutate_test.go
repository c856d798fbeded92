package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// texts returns the mutated sources of a function's body, by kind.
func texts(t *testing.T, body string) []string {
	t.Helper()
	source := "package p\n\nfunc f(a, b int, ok bool, err error) (int, error) {\n" + body + "\n}\n"
	found, err := find("p.go", source, regexp.MustCompile(logCalls))
	require.NoError(t, err)
	var list []string
	for _, m := range found {
		if m.kind == kindReturn {
			require.Contains(t, m.apply(source), "{return *new(int), *new(error);\n")
			continue
		}
		lines := strings.Split(m.apply(source), "\n")
		list = append(list, m.kind+": "+strings.Join(lines[3:len(lines)-2], "\n"))
	}
	return list
}

func TestMutantsOfEachKind(t *testing.T) {
	for body, want := range map[string][]string{
		"if a < b { g() }": {
			"move boundary: if a <= b { g() }", "negate condition: if a >= b { g() }", "drop statement: if a < b {  }",
		},
		"if ok && !h() { }": {"drop operand: if ok { }", "drop operand: if !h() { }",
			"negate condition: if ok && h() { }"},
		"if ok { }": {"negate condition: if !(ok) { }"},
		"if err != nil { return a, err }": {"drop error check: if false && err != nil { return a, err }",
			"swallow error: if err != nil { return a, nil }"},
		"if err := g(); err != nil { }": {"drop statement: ", "drop error check: if err := g(); false && err != nil { }"},
		"if err == nil { }":             {"negate condition: if err != nil { }"},
		"switch { case ok: a++ }": {
			"negate condition: switch { case !(ok): a++ }", "drop statement: switch { case ok:  }",
			"arithmetic: switch { case ok: a-- }",
		},
		"switch a { case b: }": nil,
		"_ = -a":               {"drop statement: ", "arithmetic: _ = a"},
		"a = 8":                {"drop statement: ", "change constant: a = (8*2 + 1)"},
		"const mode = 0o644":   nil,
		"c := true":            {"change constant: c := false"},
		"c := \"x\" + s":       nil,
		"a -= b % 2": {"drop statement: ", "arithmetic: a += b % 2", "arithmetic: a -= b * 2",
			"change constant: a -= b % (2*2 + 1)"},
		"defer g()":            {"drop statement: "},
		"defer file.Close()":   nil,
		"const most = 1 << 22": nil, "c := 1 << 3": {"arithmetic: c := 1 >> 3",
			"change constant: c := (1*2 + 1) << 3", "change constant: c := 1 << (3*2 + 1)"},
		"const buffer = 64 << 10":              nil,
		"c := b << 10":                         {"arithmetic: c := b >> 10", "change constant: c := b << (10*2 + 1)"},
		"c := make([]int, 0, b+1)":             {"change constant: c := make([]int, (0*2 + 1), b+1)"},
		"c, _ := strconv.ParseFloat(g[1], 64)": {"change constant: c, _ := strconv.ParseFloat(g[(1*2 + 1)], 64)"},
		"c := make([]int, b+a)":                {"arithmetic: c := make([]int, b-a)"},
		"c := fmt.Errorf(\"line %d\", a+1)":    nil,
		"go g()":                               {"drop statement: "},
		"c <- a":                               {"drop statement: "},
		"for { break }":                        {"drop statement: for {  }"},
		"select { case <-c: g() }":             {"drop statement: select { case <-c:  }"},
		"log.Printf(\"%d\", a+b)":              nil,
		"c.tell(\"%d\", a+b)":                  nil,
		"return a, fmt.Errorf(\"%w\", err)":    {"swallow error: return a, nil"},
		"return a, &run.Error{Err: err}":       {"swallow error: return a, nil"},
		"return -1, err":                       {"swallow error: return -1, nil"},
		"return -1, nil":                       {"arithmetic: return 1, nil", "change constant: return -(1*2 + 1), nil"},
		"defer crash.Catch()":                  nil,
		"type c struct { _ [8]byte }":          nil,
		"c := make([]int, 2, 4*b)":             {"change constant: c := make([]int, (2*2 + 1), 4*b)"},
	} {
		t.Run(body, func(t *testing.T) { require.ElementsMatch(t, want, texts(t, body)) })
	}
}

func TestMutantsOfCPP(t *testing.T) {
	for line, want := range map[string][]string{
		"if (a < b && !ok) return f(3);": {"move boundary: if (a <= b && !ok) return f(3);",
			"negate condition: if (a >= b && !ok) return f(3);", "drop operand: if (a < b || !ok) return f(3);",
			"change constant: if (a < b && !ok) return f((3 * 2 + 1));"},
		"if (a == 1) Wake(ring);": {"negate condition: if (a != 1) Wake(ring);", "drop statement: if (a == 1) ;",
			"change constant: if (a == (1 * 2 + 1)) Wake(ring);"},
		"if (!a) b++;": {"negate condition: if (a) b++;", "arithmetic: if (!a) b--;",
			"drop statement: if (!a) ;"},
		"ring->mask = n - m;":                   {"arithmetic: ring->mask = n + m;", "drop statement: ;"},
		"void End() override { Wake(ring); }":   {"drop statement: void End() override { ; }"},
		"std::vector<ring*>& all = other;":      nil,
		"f(\"a < b\");  // c == d":              {"drop statement: ;  // c == d"},
		"#define A(b) b = 1;":                   nil,
		"static_assert(sizeof(a) == 8, \"a\");": nil,
		"ok = true;":                            {"change constant: ok = false;", "drop statement: ;"},
	} {
		found, err := find("a.cc", line+"\n", nil)
		require.NoError(t, err)
		var texts []string
		for _, m := range found {
			texts = append(texts, m.kind+": "+strings.TrimSuffix(m.apply(line+"\n"), "\n"))
		}
		require.ElementsMatch(t, want, texts, line)
	}
}

// The module of the tests below. The package's own tests see every mutant except the edge of Less, which the other
// package's test sees. One mutant is an endless loop.
var files = map[string]string{
	"go.mod": "module example.org/m\n\ngo 1.24\n",
	"calc/calc.go": `package calc

func Less(a, b int) bool { return a < b }

func Count(n int) (c int) {
	for c < n {
		c++
	}
	return c
}
`,
	"calc/calc_test.go": `package calc

import "testing"

func TestLess(t *testing.T) {
	if !Less(1, 2) || Less(2, 1) {
		t.Fatal("wrong")
	}
}

func TestCount(t *testing.T) {
	if Count(3) != 3 || Count(0) != 0 {
		t.Fatal("wrong")
	}
}
`,
	"edge/edge_test.go": `package edge

import (
	"testing"

	"example.org/m/calc"
)

func TestEdge(t *testing.T) {
	if calc.Less(1, 1) {
		t.Fatal("wrong")
	}
}
`,
	"slow/slow.go": "package slow\n\nfunc F() int { return 1 }\n",
	"slow/slow_test.go": `package slow

import (
	"testing"
	"time"
)

func TestF(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: too slow")
	}
	time.Sleep(1500 * time.Millisecond)
	if F() > 9 {
		t.Fatal(F())
	}
}
`,
	"shapes/shapes.go": `package shapes

type pair[A, B any] struct {
	a A
	b B
}

func (p *pair[A, B]) set(a A, _ int, b B) { p.a, p.b = a, b }

func (pair[A, B]) size(int, ...string) (n int) {
	n = 2
	return
}

func most[T ~int](list ...T) (m T) {
	for _, v := range list {
		m = max(m, v)
	}
	return m
}

var table = map[string]func(int) bool{
	"even": func(n int) bool { return n%2 == 0 },
}

func triple(n int) int { return 3 * n }

var limit = most(5, 9)

func must(n int) int {
	if n > limit {
		return n
	}
	panic("too small")
}
`,
	"shapes/shapes_test.go": `package shapes

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestPair(t *testing.T) {
	var p pair[int, string]
	p.set(1, 2, "x")
	if p.a != 1 || p.b != "x" || p.size(1, "a", "b") != 2 {
		t.Fatal(p)
	}
}

func TestMost(t *testing.T) {
	if most(3, 7, 5) != 7 {
		t.Fatal("wrong")
	}
}

func TestTable(t *testing.T) {
	if !table["even"](4) || table["even"](3) {
		t.Fatal("wrong")
	}
}

// The process can open no file any more when it calls triple.
func TestTriple(t *testing.T) {
	if os.Getenv("CONFINED") != "" {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{}); err != nil {
			os.Exit(1)
		}
		os.Exit(triple(3))
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=TestTriple")
	cmd.Env = []string{"CONFINED=yes"}
	if _ = cmd.Run(); cmd.ProcessState.ExitCode() != 9 {
		t.Fatal(cmd.ProcessState)
	}
}

// The process that looks has an empty environment.
func TestMust(t *testing.T) {
	if os.Getenv("PATH") == "" {
		os.Stdout.WriteString(string(rune('0' + must(10) - 10)))
		os.Exit(0)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=TestMust")
	cmd.Env = []string{"A=b"}
	if out, err := cmd.Output(); err != nil || string(out) != "0" {
		t.Fatal(string(out), err)
	}
}
`,
	"hog/hog.go": `package hog

import "bytes"

func Keep(n int) (kept [][]byte) {
	for i := 0; i < n; {
		kept = append(kept, bytes.Repeat([]byte{1}, 1<<20))
		i++
	}
	return kept
}
`,
	"hog/hog_test.go": `package hog

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// The process is in a session of its own.
func TestKeep(t *testing.T) {
	if os.Getenv("CHILD") != "" {
		kept := Keep(3)
		time.Sleep(time.Second)
		os.Exit(len(kept))
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=TestKeep")
	cmd.Env, cmd.SysProcAttr = append(os.Environ(), "CHILD=yes"), &syscall.SysProcAttr{Setsid: true}
	if _ = cmd.Run(); cmd.ProcessState.ExitCode() != 3 {
		t.Fatal(cmd.ProcessState)
	}
}
`,
	"broken/broken.go":      "package broken\n\nfunc F() int { return 1 }\n",
	"broken/broken_test.go": "package broken\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) { t.Fatal(F()) }\n",
}

// inModule writes the module and changes to its folder.
func inModule(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
}

func runTool(t *testing.T, args ...string) (code int, out, progress string) {
	t.Helper()
	var o, p bytes.Buffer
	code = mainCode(context.Background(), args, &o, &p)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, files[name], string(text), "the tree is as it was")
	}
	return code, o.String(), p.String()
}

func TestASurvivorIsListedWithItsChange(t *testing.T) {
	inModule(t)
	code, out, progress := runTool(t, "-n", "0", "calc/calc.go:3")
	require.Equal(t, exitBelow, code, progress)
	require.Contains(t, out, `
calc/calc.go:3:37: move boundary survived
-func Less(a, b int) bool { return a < b }
+func Less(a, b int) bool { return a <= b }
`)
	require.Equal(t, 1, strings.Count(out, " survived\n"), out)
	require.Regexp(t, `calc/calc.go +3 +2 +1 +67 %`, out)
	require.Contains(t, out, "2 of 3 mutants noticed (67 %)\n")
	require.Contains(t, progress, "[3/3] calc/calc.go:3:")

	code, out, _ = runTool(t, "-n", "1", "-goal", "0", "calc/calc.go:3")
	require.Equal(t, exitGoal, code, out)
	require.Contains(t, out, "3 places, 1 tried, seed 1\n")

	code, out, _ = runTool(t, "-list", "calc/calc.go:3:37") // as a survivor is named
	require.Equal(t, exitGoal, code, out)
	require.Equal(t, 2, strings.Count(out, "calc/calc.go:3:37: "), out)
	require.NotContains(t, out, "return early")
}

func TestTestsOfOtherPackagesCount(t *testing.T) {
	inModule(t)
	code, out, progress := runTool(t, "-n", "0", "-tests", "./edge", "calc/calc.go:3")
	require.Equal(t, exitGoal, code, out+progress)
	require.Contains(t, out, "3 of 3 mutants noticed (100 %)\n")
}

// A package that does not depend on the mutant's is not tested, because it cannot detect the mutant.
func TestOtherPackagesThatDependOnIt(t *testing.T) {
	inModule(t)
	code, out, progress := runTool(t, "-n", "0", "-tests", "./...", "calc/calc.go:3")
	require.Equal(t, exitGoal, code, out+progress)
	require.Contains(t, progress, "tests of ./edge")
	require.NotContains(t, progress, "./slow")
	code, _, progress = runTool(t, "-tests", "./nowhere", "calc")
	require.Equal(t, exitError, code)
	require.Contains(t, progress, "-tests: no packages ./nowhere")
}

func TestTheSeedChoosesTheSample(t *testing.T) {
	order := func(seed uint64) string {
		found, err := find("calc.go", files["calc/calc.go"], regexp.MustCompile(logCalls))
		require.NoError(t, err)
		shuffle(found, seed)
		return fmt.Sprint(found)
	}
	require.Equal(t, order(1), order(1))
	require.NotEqual(t, order(1), order(2))
}

// Mutants that are compiled together end as each alone does: methods, generics, names that a function does not give, a
// literal in a table, a function that runs while the package starts, a process without an environment, and
// one that can open no file.
func TestTogetherAsAlone(t *testing.T) {
	inModule(t)
	root, _, err := module()
	require.NoError(t, err)
	sources := map[string]string{}
	found, err := mutantsOf(root, "shapes", regexp.MustCompile(logCalls), sources)
	require.NoError(t, err)
	run := &tester{root: root, work: t.TempDir(), patience: 1, limits: map[string]time.Duration{}}
	ctx := context.Background()
	require.NoError(t, run.measure(ctx, "./shapes", io.Discard))
	b, err := newBatch(ctx, run, found, sources, io.Discard)
	require.NoError(t, err)
	var held int
	for number := range found {
		m := &found[number]
		alone, _, err := run.try(ctx, m, sources[m.path])
		require.NoError(t, err)
		if !b.holds(number) {
			require.Contains(t, diff(sources[m.path], m)+alone.String(), map[bool]string{true: "var limit",
				false: unviable.String()}[alone != unviable])
			continue
		}
		held++
		together, _, err := b.try(ctx, number)
		require.NoError(t, err)
		require.Equal(t, alone, together, diff(sources[m.path], m))
	}
	require.Greater(t, held, 10)
}

// A mutant whose tests do not end is detected at the limit.
func TestAnEndlessMutantIsNoticed(t *testing.T) {
	inModule(t)
	restore := limitSlack
	t.Cleanup(func() { limitSlack = restore })
	limitSlack = 0
	code, out, progress := runTool(t, "-n", "0", "calc/calc.go:7")
	require.Equal(t, exitGoal, code, out+progress)
	require.Contains(t, progress, "drop statement: timed out")
}

// A mutant whose tests need more memory than allowed is noticed, also if a process of theirs needs it, with a process
// namespace and without one.
func TestAGrowingMutantIsNoticed(t *testing.T) {
	inModule(t)
	for _, isolate := range []string{"-isolate=" + strconv.FormatBool(namespace() != nil), "-isolate=false"} {
		code, out, progress := runTool(t, "-n", "0", "-memory", "300", isolate, "hog/hog.go:8")
		require.Equal(t, exitGoal, code, out+progress)
		require.Equal(t, 2, strings.Count(progress, ": exceeded the memory limit, "), progress)
		require.Contains(t, out, "2 of 2 mutants noticed (100 %)")
	}
	code, _, progress := runTool(t, "-memory", "1", "hog")
	require.Equal(t, exitError, code)
	require.Contains(t, progress, "the tests of ./hog fail without a mutant (exceeded the memory limit); ")
	require.Contains(t, progress, "or raise -memory")
}

// TestMemoryOf: the pages that a process has written count, and those of its program do not.
func TestMemoryOf(t *testing.T) {
	const size = 64 << 20
	before := memoryOf(os.Getpid())
	require.Positive(t, before)
	kept := bytes.Repeat([]byte{1}, size)
	require.InDelta(t, size, memoryOf(os.Getpid())-before, size/4)
	require.Len(t, kept, size)
	require.Zero(t, memoryOf(1<<30))
}

func TestDescendants(t *testing.T) {
	require.Equal(t, []int{5, 6, 9, 7}, descendants(5, []process{{5, 1}, {6, 5}, {9, 5}, {7, 9}, {8, 1}, {1, 0}}))
	require.Contains(t, processes(), process{os.Getpid(), os.Getppid()})
}

// Tests that a busy machine slows down get a longer limit before their mutant counts as detected, unless the limit is
// short on purpose.
func TestASlowMutantIsTriedAgain(t *testing.T) {
	inModule(t)
	root, _, err := module()
	require.NoError(t, err)
	sources := map[string]string{}
	found, err := mutantsOf(root, "slow", regexp.MustCompile(logCalls), sources)
	require.NoError(t, err)
	require.NotEmpty(t, found)
	for patience, want := range map[int]outcome{1: timedOut, 4: survived} {
		run := &tester{root: root, work: t.TempDir(), patience: patience,
			limits: map[string]time.Duration{"./slow": time.Second}}
		o, by, err := run.try(context.Background(), &found[len(found)-1], sources["slow/slow.go"])
		require.NoError(t, err)
		require.Equal(t, want, o)
		require.Empty(t, by)
	}
}

func TestAFolderMeansThePackagesBelowIt(t *testing.T) {
	inModule(t)
	code, out, progress := runTool(t, "-list", "-skip", "^(broken|slow)$", "./...")
	require.Equal(t, exitGoal, code, progress)
	require.Contains(t, out, "calc/calc.go:3")
	require.NotContains(t, out, "broken")

	code, out, progress = runTool(t, "-n", "0", "-goal", "0", "broken", "calc/calc.go:3")
	require.Equal(t, exitGoal, code, "the others are measured")
	require.Contains(t, progress, "the tests of ./broken fail without a mutant")
	require.Contains(t, out, "2 of 3 mutants noticed")

	_, out, progress = runTool(t, "-n", "0", "-short", "slow/...")
	require.Contains(t, out, "0 of 2 mutants noticed", "-short leaves out the only test")
	require.Contains(t, progress, "tests of ./slow: 1 skipped: slow: too slow\n")
	require.NotContains(t, progress, " by ")
	_, _, progress = runTool(t, "-n", "0", "calc/calc.go:3")
	require.Contains(t, progress, "killed by TestLess,")
}

func TestErrorsBeforeAMeasurement(t *testing.T) {
	inModule(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "usage: mutate"},
		{[]string{"-n", "many", "calc"}, "invalid value"},
		{[]string{"broken"}, "the tests of ./broken fail without a mutant"},
		{[]string{"-logs", "(", "calc"}, "-logs: error parsing regexp"},
		{[]string{"-skip", "(", "./..."}, "-skip: error parsing regexp"},
		{[]string{"nowhere/..."}, "no packages below nowhere/..."},
		{[]string{"missing"}, "missing is not a package of this module"},
		{[]string{"edge"}, "no code to mutate in edge"},
	} {
		code, out, progress := runTool(t, c.args...)
		require.Equal(t, exitError, code)
		require.Empty(t, out)
		require.Contains(t, progress, c.says)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.Equal(t, exitError, mainCode(ctx, []string{"calc"}, &bytes.Buffer{}, &bytes.Buffer{}))
}
