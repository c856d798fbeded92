package arch

import (
	"encoding/json"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/schema"
)

const troubleshooting = "docs/reference/troubleshooting.md"

// failureCodes returns the values of the constants of type ledger.Reason.
func failureCodes(t *testing.T) []string {
	codes := constants(t, "ledger/reason.go", "Reason")
	return slices.DeleteFunc(codes, func(c string) bool { return c == "" }) // the code "" means success
}

// verdictCodes returns the values of the constants of type record.Code.
func verdictCodes(t *testing.T) []string { return constants(t, "run/record/code.go", "Code") }

// constants returns the values of the constants of one type in a file.
func constants(t *testing.T, name, typeName string) []string {
	t.Helper()
	var values []string
	for _, s := range sources(t) {
		if s.name != name {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok {
				if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == typeName {
					values = append(values, literal(t, v.Values[0]))
				}
			}
			return true
		})
	}
	require.NotEmpty(t, values, "%s has no constants of type %s", name, typeName)
	return values
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

// errorCodes returns the values of the constants of type exit.Code.
func errorCodes(t *testing.T) []string { return constants(t, "run/exit/code.go", "Code") }

var (
	rowCodes = regexp.MustCompile("(?m)^\\| ((?:`[a-z_]+`(?:, )?)+) \\| [0-9]")
	oneCode  = regexp.MustCompile("`([a-z_]+)`")
)

// TestErrorCodesAreConstants rejects an error whose code is a string literal, and a row of the page for a code that no
// error has.
func TestErrorCodesAreConstants(t *testing.T) {
	codes := errorCodes(t)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(codes))), len(codes), "two constants are equal")
	for _, row := range rowCodes.FindAllStringSubmatch(text(t, troubleshooting), -1) {
		for _, code := range oneCode.FindAllStringSubmatch(row[1], -1) {
			require.Contains(t, codes, code[1], "%s has a row for %s", troubleshooting, code[1])
		}
	}
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			made, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || len(call.Args) < 3 || made.Sel.Name != "Usage" && made.Sel.Name != "Environment" {
				return true
			}
			if pkg, ok := made.X.(*ast.Ident); ok && pkg.Name == "exit" {
				_, written := call.Args[0].(*ast.BasicLit)
				require.False(t, written, "%s: use a constant of run/exit/code.go", s.at(n))
			}
			return true
		})
	}
}

// The schema allows exactly the codes that the program can write.
func TestTheSchemaHasEveryCode(t *testing.T) {
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
	makeTarget = regexp.MustCompile("(?m)(?:^|`)make ([a-z]{2,})")
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

// The list of changes in the architecture page names files that exist.
func TestChangesNameExistingFiles(t *testing.T) {
	page := text(t, "docs/explanation/architecture.md")
	_, changes, found := strings.Cut(page, "\n## Ten changes and the files they touch\n")
	require.True(t, found)
	require.Len(t, regexp.MustCompile(`(?m)^\*\*`).FindAllString(changes, -1), 10)
	named := regexp.MustCompile("`([a-z0-9_./-]+\\.[a-z]+)`").FindAllStringSubmatch(changes, -1)
	require.Greater(t, len(named), 40)
	for _, m := range named {
		if m[1] != "run.json" && m[1] != "user.conf" {
			require.FileExists(t, filepath.Join(root, filepath.FromSlash(m[1])))
		}
	}
}
