package arch

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/schema"
)

const troubleshooting = "docs/troubleshooting.md"

// failureCodes are the values of backends' constants of type Reason.
func failureCodes(t *testing.T) []string {
	t.Helper()
	var codes []string
	for _, s := range sources(t) {
		if s.name != "backends/backend.go" {
			continue
		}
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Reason" {
					codes = append(codes, literal(t, v.Values[0]))
				}
			}
		}
	}
	return slices.DeleteFunc(codes, func(c string) bool { return c == "" }) // "" is success
}

// verdictCodes are the codes of every Cause that package run makes.
func verdictCodes(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	for _, s := range sources(t) {
		if !below(s.pkg, "run") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			c, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if typ, ok := c.Type.(*ast.Ident); !ok || typ.Name != "Cause" {
				return true
			}
			for _, e := range c.Elts {
				if kv := e.(*ast.KeyValueExpr); kv.Key.(*ast.Ident).Name == "Code" {
					found[literal(t, kv.Value)] = true
				}
			}
			return true
		})
	}
	var codes []string
	for c := range found {
		codes = append(codes, c)
	}
	slices.Sort(codes)
	return codes
}

func literal(t *testing.T, e ast.Expr) string {
	t.Helper()
	lit, ok := e.(*ast.BasicLit)
	require.True(t, ok, "a code is no literal")
	value, err := strconv.Unquote(lit.Value)
	require.NoError(t, err)
	return value
}

func TestEveryFailureAndVerdictCodeHasItsEntry(t *testing.T) {
	page := text(t, troubleshooting)
	failures, verdicts := failureCodes(t), verdictCodes(t)
	require.Greater(t, len(failures), 10)
	require.Greater(t, len(verdicts), 10)
	for _, code := range append(append(failures, verdicts...), "http_<status>") {
		require.Contains(t, page, "\n| `"+code+"` |", "%s has no row for %s", troubleshooting, code)
	}
}

// The schema lists codes as data; what the program can write and what the schema allows must be the same.
func TestTheSchemaKnowsEveryCode(t *testing.T) {
	var s struct {
		Defs struct {
			Reason struct {
				Properties struct{ Code struct{ Enum []string } }
			}
			FailureCode struct{ AnyOf []struct{ Enum []string } }
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(schema.Run, &s))
	require.ElementsMatch(t, failureCodes(t), s.Defs.FailureCode.AnyOf[0].Enum)
	require.Subset(t, s.Defs.Reason.Properties.Code.Enum, verdictCodes(t))
}

// program builds mlperf-go; -tags noloadgen, because help needs no LoadGen.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mlperf-go")
	cmd := exec.Command("go", "build", "-tags", "noloadgen", "-o", path, "./cmd/mlperf-go")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

var helpCommand = regexp.MustCompile(`(?m)^   ([a-z]+)(?:, \w+)*  +\S`)

// help gives the help text of a command and of every command below it.
func help(t *testing.T, program string, command ...string) string {
	t.Helper()
	out, err := exec.Command(program, append(command, "--help")...).Output()
	require.NoError(t, err, "%v", command)
	all := string(out)
	_, list, _ := strings.Cut(all, "COMMANDS:")
	list, _, _ = strings.Cut(list, "OPTIONS:")
	for _, m := range helpCommand.FindAllStringSubmatch(list, -1) {
		if m[1] != "help" {
			all += help(t, program, append(slices.Clone(command), m[1])...)
		}
	}
	return all
}

var longFlag = regexp.MustCompile("(?:^|[\\s`'(])--([a-z][a-z0-9-]+)")

func flagsIn(text string) []string {
	var names []string
	for _, m := range longFlag.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// foreignFlags are flags of other programs that the pages mention.
var foreignFlags = []string{"max-model-len", "enable-force-include-usage"}

func TestHelpAndPagesSpeakOfTheSameFlags(t *testing.T) {
	p := program(t)
	known := flagsIn(help(t, p))
	shown := flagsIn(help(t, p, "run"))
	for _, s := range config.RunSettings() {
		if !s.Hidden {
			require.Contains(t, shown, s.Name, "`mlperf-go run --help`")
		}
		known = append(known, s.Names()...)
	}
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "docs/architecture.md", troubleshooting} {
		for _, f := range flagsIn(text(t, page)) {
			require.True(t, slices.Contains(known, f) || slices.Contains(foreignFlags, f), "%s speaks of --%s, which no command has", page, f)
		}
	}
}

// The page for those who come from the older harness has every name of it that is accepted, and on the right-hand side only flags
// that are there.
func TestMigrationPageIsComplete(t *testing.T) {
	page := text(t, "docs/migration.md")
	known := flagsIn(help(t, program(t)))
	for _, s := range config.RunSettings() {
		known = append(known, s.Names()...)
		for _, a := range s.Aliases {
			if a.Value == "" {
				require.Contains(t, page, "`--"+a.Name, "alias of --%s", s.Name)
			}
		}
		if s.Hidden {
			require.Contains(t, page, "`--"+s.Name)
		}
	}
	for _, line := range strings.Split(page, "\n") {
		if columns := strings.Split(line, " | "); strings.HasPrefix(line, "| ") && len(columns) > 1 {
			for _, f := range flagsIn(columns[1]) {
				require.Contains(t, known, f, line)
			}
		}
	}
}

var (
	link       = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	makeTarget = regexp.MustCompile("(?m)(?:^|`)make ([a-z]+)")
)

func TestLinksAndMakeTargetsExist(t *testing.T) {
	targets := text(t, "Makefile")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, path := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		page := text(t, name)
		for _, m := range link.FindAllStringSubmatch(page, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(path), m[1]))
			require.NoError(t, err, "a link of %s", name)
		}
		for _, m := range makeTarget.FindAllStringSubmatch(page, -1) {
			require.Contains(t, targets, "\n"+m[1]+":", "%s speaks of `make %s`", name, m[1])
		}
	}
}
