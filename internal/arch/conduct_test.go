package arch

import (
	"go/ast"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyWorkloadsHaveConducts keeps clients that leave early or read slowly out of the tests of LoadGen: only runs of
// workloads set backends.Config.Conduct, and only clients read it.
func TestOnlyWorkloadsHaveConducts(t *testing.T) {
	set := 0
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			name := ""
			switch n := n.(type) {
			case *ast.SelectorExpr:
				name = n.Sel.Name
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					name = key.Name
				}
			}
			if name == "Conduct" || name == "Abandoned" {
				require.True(t, below(s.pkg, "backends", "workload"), "%s: only workloads have conducts", s.at(n))
				set++
			}
			return true
		})
	}
	require.NotZero(t, set, "the conducts of workloads are found")
}
