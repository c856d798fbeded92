package arch

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/schema"
)

const troubleshooting = "docs/reference/troubleshooting.md"

// failureCodes are the values of the constants of type ledger.Reason.
func failureCodes(t *testing.T) []string {
	t.Helper()
	var codes []string
	for _, s := range sources(t) {
		if s.name != "ledger/reason.go" {
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

var (
	link       = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	makeTarget = regexp.MustCompile("(?m)(?:^|`)make ([a-z]+)")
)

func TestLinksAndMakeTargetsExist(t *testing.T) {
	targets := text(t, "Makefile")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
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
