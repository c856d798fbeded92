package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// theTerminal lists, by package, the names by which a program reaches its flags, its environment and its terminal.
var theTerminal = map[string][]string{
	"os":  {"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Args", "Stdin", "Stdout", "Stderr", "Exit"},
	"fmt": {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
}

// theirPackages lists packages that have no other purpose.
var theirPackages = []string{"flag", "log", "github.com/urfave/cli", "golang.org/x/term"}

// forTests lists packages that read the environment variables of tests, and start servers for tests. No program imports
// them.
var forTests = []string{"internal/faulttest", "internal/golden", "backends/internal/wiretest",
	"backends/internal/wirecase"}

func TestNothingBelowCmdReadsFlagsEnvironmentOrTerminal(t *testing.T) {
	for _, s := range sources(t) {
		if below(s.pkg, append(forTests, "cmd", "scripts")...) {
			continue
		}
		for _, i := range s.file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			require.False(t, below(path, theirPackages...), "%s imports %s; only cmd may", s.at(i), path)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok {
				require.NotContains(t, theTerminal[pkg.Name], sel.Sel.Name, "%s uses %s.%s; only cmd may", s.at(n), pkg.Name,
					sel.Sel.Name)
			}
			return true
		})
	}
}

// isTable reports whether a file may list benchmarks as data: the registry's own columns cannot hold what packages
// above it define, such as scorers, so a package may have one table of its own, in a file of this name.
// internal/config/confkeys.go contains LoadGen's model keys.
func isTable(s source) bool {
	return filepath.Base(s.name) == "benchmarks.go" || s.name == "internal/config/confkeys.go"
}

// Only rows of tables distinguish benchmarks. A name in a condition would be a rule that a new benchmark's row cannot
// express.
func TestNoBenchmarkIsNamedOutsideTables(t *testing.T) {
	names := map[string]bool{}
	for _, r := range models.Rows() {
		if r.Name == models.Generic {
			continue
		}
		for _, n := range slices.Concat([]string{r.Name}, r.Aliases, r.ServedModels) {
			names[strings.ToLower(n)] = true
		}
		for i := range r.Scenarios {
			if key := r.Scenarios[i].LoadGenModel; key != models.Generic {
				names[strings.ToLower(key)] = true
			}
		}
	}
	for _, s := range sources(t) {
		if below(s.pkg, "models") {
			continue
		}
		allowed := flagDefaults(s)
		if isTable(s) {
			allowed = data(s)
		}
		compared := comparisons(s)
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sum, ok := n.(*ast.BinaryExpr); ok {
				value, _ := concatenated(sum)
				require.False(t, names[strings.ToLower(value)] || inFamily(value),
					"%s puts the name of the benchmark %q together", s.at(n), value)
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || allowed[lit] {
				return true
			}
			value, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			require.False(t, names[strings.ToLower(value)] || compared[lit] && inFamily(value),
				"%s names the benchmark %q; what differs between benchmarks is a column of the registry, or of a package's "+
					"benchmarks.go", s.at(n), value)
			return true
		})
	}
}

// family matches the beginning of benchmarks' names. A comparison with such a text would be a rule for several
// benchmarks.
var family = regexp.MustCompile(`^(?i)[^a-z]*(llama|gpt-?j|gpt[-_]?oss|mixtral|deepseek|qwen|[0-9.]+b\b)`)

// inFamily reports whether a text could be the beginning of a benchmark's name. A name contains no space, while a
// sentence may begin with "llama.cpp".
func inFamily(text string) bool { return family.MatchString(text) && !strings.Contains(text, " ") }

// concatenated returns the text of one literal or of several concatenated ones.
func concatenated(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, ok := concatenated(e.X)
		right, also := concatenated(e.Y)
		if ok && also && e.Op == token.ADD {
			return left + right, true
		}
	}
	return "", false
}

// comparisons returns the literals with which the code compares a value: by an operator, a case, a function of package
// strings, or through a constant.
func comparisons(s source) map[*ast.BasicLit]bool {
	found := map[*ast.BasicLit]bool{}
	add := func(list ...ast.Expr) {
		for _, e := range list {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				found[lit] = true
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			add(n.X, n.Y)
		case *ast.CaseClause:
			add(n.List...)
		case *ast.ValueSpec:
			add(n.Values...)
		case *ast.IndexExpr:
			add(n.Index)
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && (pkg.Name == "strings" || pkg.Name == "slices" || pkg.Name == "regexp" ||
					pkg.Name == "bytes") {
					add(n.Args...)
				}
			}
		}
		return true
	})
	return found
}

// The test above must detect each of these comparisons.
func TestWhatNamesABenchmark(t *testing.T) {
	for text, want := range map[string]bool{"llama": true, "gpt-oss": true, "GPTJ": true, "-70b": true, "405b": true,
		"deepseek": true, "qwen3": true, "gpt2": false, "gptme": false, "b": false, "mix": false, "ball": false} {
		require.Equal(t, want, family.MatchString(text), text)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", `package a
const c = "zero"
func f(s string, m map[string]int) bool {
	switch s { case "one": }
	return s == "two" || strings.HasPrefix(s, "three") || m["four"] > 0 || g("five")
}`, 0)
	require.NoError(t, err)
	sum, err := parser.ParseExpr(`"a" + "b" + "c"`)
	require.NoError(t, err)
	text, ok := concatenated(sum)
	require.True(t, ok)
	require.Equal(t, "abc", text)
	var got []string
	for lit := range comparisons(source{file: file}) {
		got = append(got, lit.Value)
	}
	require.ElementsMatch(t, []string{`"zero"`, `"one"`, `"two"`, `"three"`, `"four"`}, got)
}

// data returns the literals in a file's package-level variables.
func data(s source) map[*ast.BasicLit]bool {
	found := map[*ast.BasicLit]bool{}
	for _, d := range s.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			ast.Inspect(g, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit:
					return false
				case *ast.BasicLit:
					found[n] = true
				}
				return true
			})
		}
	}
	return found
}

// flagDefaults returns the literals of `Value: "..."` in cmd.
func flagDefaults(s source) map[*ast.BasicLit]bool {
	found := map[*ast.BasicLit]bool{}
	if !below(s.pkg, "cmd") {
		return found
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			key, _ := kv.Key.(*ast.Ident)
			lit, isLit := kv.Value.(*ast.BasicLit)
			if key != nil && key.Name == "Value" && isLit {
				found[lit] = true
			}
		}
		return true
	})
	return found
}

func TestEveryPackageHasADoc(t *testing.T) {
	for _, p := range packages(t) {
		require.FileExists(t, filepath.Join(root, p.Dir, "doc.go"), "package %s", p.Dir)
		require.NotEmpty(t, p.Doc, "package %s", p.Dir)
		for _, s := range sources(t) {
			if s.pkg == p.Dir && filepath.Base(s.name) != "doc.go" {
				require.Nil(t, s.file.Doc, "%s has a package comment; it belongs into doc.go", s.name)
			}
		}
	}
}

// The source contains no words that mark unfinished work.
func TestNothingIsLeftForLater(t *testing.T) {
	words := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X:"}
	for _, p := range packages(t) {
		names, err := filepath.Glob(filepath.Join(root, p.Dir, "*"))
		require.NoError(t, err)
		for _, name := range names {
			if ext := filepath.Ext(name); ext != ".go" && ext != ".cc" && ext != ".h" {
				continue
			}
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, w := range words {
				require.NotContains(t, string(b), w, name)
			}
		}
	}
}

// Differences between rounds are data in package rounds. No code elsewhere compares a round's name.
func TestRoundsAreNamedInTheirTableOnly(t *testing.T) {
	round := regexp.MustCompile(`^"v[0-9]+\.[0-9]+"$`)
	for _, s := range sources(t) {
		if below(s.pkg, "rounds") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && round.MatchString(lit.Value) {
				t.Errorf("%s names the round %s; make the difference a key of rounds/*.yaml", s.name, lit.Value)
			}
			return true
		})
	}
}
